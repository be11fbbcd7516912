"""Every verb returns a result of one kind: header, outcome, reason, summary, frame, one dictionary of version 2, renderings."""

import inspect
import json
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaign.bench_records import Arena
from evenhand.campaign.sources import Given
from evenhand.contract import Result
from evenhand.datasets.dataset import from_frame
from evenhand.engine.samples import judged_sample
from evenhand.errors import DataError
from evenhand.measures.rates import Sample
from evenhand.oracles.flip import LabelFlip
from evenhand.planted import shapes
from evenhand.report import load
from evenhand.report.record import read
from evenhand.verbs.compare import paired_difference

PLANTED, FAIR = shapes()["wide_band"], shapes()["fair"]


def people(n=600):
    """People whose decision is the planted model's, but for every seventh."""
    rows = PLANTED.domain.sample(n, np.random.default_rng(0))
    frame = PLANTED.domain.decode(rows)
    said = PLANTED.model.scores(rows).argmax(axis=1) ^ (np.arange(n) % 7 == 0)
    frame["decision"] = np.array(PLANTED.model.classes)[said]
    return from_frame(frame, PLANTED.domain, "planted")


DATA = people()
QUICK = eh.MeasureOptions(rate_rows=200, compare_rows=0, natural_candidates=0, draws=99)


def scanned(model):
    options = eh.Options(rate_rows=400, most_witnesses=4)
    return eh.scan(model, DATA, methods=["themis"], budget=eh.Budget(candidates=600), options=options)


@pytest.fixture(scope="module")
def results():
    first, second = scanned(PLANTED.model), scanned(FAIR.model)
    return {
        "scan": first,
        "doctor": eh.doctor(PLANTED.model, DATA),
        "replay": eh.replay(first.witnesses[0], PLANTED.model, DATA),
        "compare": eh.compare(first, second),
        "synth": eh.synth(DATA, 50),
        "measure": eh.measure(PLANTED.model, DATA, options=QUICK),
        "bench": eh.bench(["themis"], [Given(Arena(DATA, ("group",), PLANTED.model, "net"))], budget=eh.Budget(candidates=200)),
    }


@pytest.mark.parametrize("verb", ["scan", "measure", "doctor", "replay", "compare", "synth", "bench"])
def test_a_result_is_a_result(results, verb, tmp_path):
    result = results[verb]
    assert isinstance(result, Result)
    told = result.as_dict()
    assert (told["evenhand_result"], told["verb"]) == (2, verb)
    assert read(told).outcome == result.outcome in ("pass", "violation", "inconclusive")
    assert result.reason
    assert result.reason in result.summary() or verb == "doctor"
    assert len(result.frame())
    for ending in ("html", "md", "xml", "sarif", "json"):
        assert result.report(tmp_path / f"page.{ending}").stat().st_size > 100
    assert load(tmp_path / "page.json")["verb"] == verb
    assert "evenhand-result" in result._repr_html_()


def test_a_scan_says_how_much_of_what_there_is_its_list_holds(results):
    told = {"known": "about half of the plausible affected people are in the list", "set_aside": "3 more people are treated so"}
    run = replace(results["scan"].runs[0], facts=told)
    lines = replace(results["scan"], runs=(run,)).summary().splitlines()
    assert f"  {told['known']}; {told['set_aside']}." in lines
    assert not any("in the list" in line for line in results["scan"].summary().splitlines())


def test_headers_have_the_same_parts(results):
    parts = {"evenhand", "date", "command", "seed", "budget", "data", "domain", "model", "medium", "oracle", "details", "versions"}
    for result in results.values():
        header = json.loads(json.dumps(result.as_dict()["header"]))
        assert set(header) == parts
        assert set(header["data"]) == {"name", "digest", "rows"}
        assert set(header["domain"]) == {"digest", "protected", "label", "favourable", "classes"}


@pytest.mark.parametrize("verb", ["scan", "measure", "certify", "repair", "doctor", "replay", "compare", "synth", "bench"])
def test_signatures_say_what_is_taken(verb):
    parameters = inspect.signature(getattr(eh, verb)).parameters
    assert all(each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL) for each in parameters.values())
    assert all(each.annotation is not each.empty for each in parameters.values())
    assert inspect.getdoc(getattr(eh, verb))


def test_a_worse_model_is_worse_and_a_better_one_is_better():
    worse = eh.compare(FAIR.model, PLANTED.model, DATA)
    assert worse.outcome == "violation"
    assert worse.witnesses.new
    assert not worse.witnesses.gone
    assert worse.changes[0].verdict == "worse"
    assert worse.header.details["reading"]
    better = eh.compare(PLANTED.model, FAIR.model, DATA)
    assert better.outcome == "pass"
    assert better.witnesses.gone
    assert not better.witnesses.new
    assert "falls by at least" in better.reason


def test_a_model_is_no_worse_than_itself_and_a_result_than_itself(results):
    assert eh.compare(PLANTED.model, PLANTED.model, DATA).outcome == "pass"
    same = eh.compare(results["scan"], results["scan"].as_dict())
    assert same.outcome == "pass"
    assert len(same.witnesses.kept) == len(results["scan"].witnesses)


def test_results_on_other_data_are_not_compared(results):
    told = results["scan"].as_dict()
    other = told | {"header": told["header"] | {"data": told["header"]["data"] | {"digest": "0" * 16}}}
    with pytest.raises(DataError, match="differ in their data"):
        eh.compare(told, other)


def test_paired_bounds_hold_the_difference_as_often_as_they_say():
    rng, held = np.random.default_rng(0), 0
    for _ in range(300):
        new, gone = rng.random(400) < 0.03, rng.random(400) < 0.01
        low, high = paired_difference(new & ~gone, gone & ~new, 0.95)
        held += low <= 0.03 * 0.99 - 0.01 * 0.97 <= high
    assert held >= 282


def test_a_pair_that_is_mended_is_fair_now(results):
    kept = results["scan"].witnesses[0]
    assert eh.replay(kept, PLANTED.model, DATA).outcome == "violation"
    mended = eh.replay(kept, FAIR.model, DATA)
    assert mended.outcome == "pass"
    assert "fair now" in mended.summary()


def test_a_sample_knows_whether_it_is_the_data_in_their_order():
    rows = np.arange(30_000, dtype=float).reshape(10_000, 3)
    rows[5] = np.nan
    sample = judged_sample(Sample(DATA.rows, "data", True), DATA.domain, PLANTED.model, LabelFlip(), 0.95)
    assert replace(sample, rows=rows[:]).holds_in_order(rows)
    assert replace(sample, rows=rows.copy()).holds_in_order(rows)
    assert not replace(sample, rows=rows[::-1]).holds_in_order(rows)
    assert not replace(sample, rows=rows[:-1]).holds_in_order(rows)
