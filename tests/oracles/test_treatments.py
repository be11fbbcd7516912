"""Every oracle finds exactly the share that was planted for it, through judging, scanning and replaying alike."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.main import build
from evenhand.datasets.dataset import Dataset
from evenhand.domain.causal_graph import CausalGraph
from evenhand.domain.project_file import load, read_project, save, save_project
from evenhand.domain.project_sections import Project
from evenhand.engine import witness
from evenhand.errors import DomainError, InvalidArgument, UnknownName
from evenhand.measures.rates import judge_all
from evenhand.models.meter import Meter
from evenhand.oracles import ORACLES, oracle_of, oracle_text, ready
from evenhand.oracles.gap import ScoreGap
from evenhand.planted.treatments import treatments

TREATMENTS = treatments()
UNFAIR = [name for name, each in TREATMENTS.items() if each.rate]


def as_data(treatment):
    return Dataset(treatment.name, treatment.domain.decode(treatment.rows), treatment.domain)


class Given:
    """Rows and their domain, without a label column."""

    def __init__(self, treatment):
        self.name, self.domain, self.rows = treatment.name, treatment.domain, treatment.rows
        self.labels = np.zeros(len(self.rows), dtype=np.intp)


@pytest.mark.parametrize("name", TREATMENTS)
def test_the_planted_share_is_judged(name):
    each = TREATMENTS[name]
    meter = Meter(each.model)
    judge = ready(oracle_of(each.oracle), each.rows, each.domain, meter)
    assert judge_all(each.rows, each.domain, meter, judge).unfair.mean() == pytest.approx(float(each.rate))


@pytest.mark.parametrize("name", UNFAIR)
def test_a_scan_finds_it_with_witnesses_that_replay(name, tmp_path):
    each = TREATMENTS[name]
    options = eh.Options(rate_rows=4_000, most_witnesses=6, folder=tmp_path)
    result = eh.scan(each.model, Given(each), oracle=each.oracle, budget=eh.Budget(candidates=400), options=options)
    assert result.outcome == "violation"
    assert result.rate.interval.estimate == pytest.approx(float(each.rate))
    assert result.rate.words in result.rate.sentence
    assert result.witnesses
    for kept in result.witnesses:
        read = witness.load(witness.save(kept, tmp_path / "witnesses"))
        assert read == kept
        again = witness.replay(read, each.domain, each.model)
        assert again.is_unfair
        assert (again.outcome, again.twin_outcome) == (kept.outcome, kept.twin_outcome)
    assert result.header.oracle == oracle_text(oracle_of(result.header.oracle))
    assert len(result.findings.frame()) == len(result.findings)


@pytest.mark.parametrize("name", [name for name in TREATMENTS if name not in UNFAIR])
def test_a_fair_model_is_not_blamed(name):
    each = TREATMENTS[name]
    options = eh.Options(rate_rows=4_000)
    result = eh.scan(each.model, Given(each), oracle=each.oracle, budget=eh.Budget(candidates=300), options=options)
    assert result.outcome != "violation"
    assert not len(result.findings)


def test_a_gap_is_shown_by_the_twins_who_have_it():
    """Of five groups only the last is far away: the first other twin would show no gap at all."""
    columns = (eh.Column("group", "integer", low=0, high=4), eh.Column("x", "integer", low=0, high=9))
    domain = eh.TabularDomain(columns, ("group",), eh.Label("y", ("no", "yes"), ("yes",)))
    model = eh.wrap(lambda frame: 0.1 + 0.3 * (frame["group"] == 4), domain, returns="favourable")
    rows = np.array([[0.0, 3.0], [2.0, 5.0], [4.0, 1.0]])
    verdict = ScoreGap(0.2).judge(rows, domain, model)
    assert verdict.unfair.all()
    assert (np.abs(np.diff(verdict.pairs.answers, axis=1)) > 0.2).all()
    assert (verdict.pairs.rows == rows).all()
    assert verdict.pairs.partners[:2, 0].tolist() == [4.0, 4.0]


def test_two_extremes_are_shown_where_the_person_stands_between_them():
    columns = (eh.Column("group", "integer", low=0, high=2), eh.Column("x", "integer", low=0, high=9))
    domain = eh.TabularDomain(columns, ("group",), eh.Label("y", ("no", "yes"), ("yes",)))
    model = eh.wrap(lambda frame: 0.3 + 0.07 * frame["group"], domain, returns="favourable")
    pairs = ScoreGap(0.1).judge(np.array([[1.0, 4.0]]), domain, model).pairs
    assert {pairs.rows[0, 0], pairs.partners[0, 0]} == {0.0, 2.0}


@pytest.mark.parametrize(
    ("choice", "same"),
    [
        ("gap", "gap"),
        ("gap:threshold=0.2", {"gap": {"threshold": 0.2}}),
        ("score_gap=0.2", "gap:threshold=0.2"),
        ("label_flip", "flip"),
        ("robustness:neighbours=8, reach=2", {"robustness": {"neighbours": 8, "reach": 2}}),
        ("amounts:share=0.05", {"amounts": {"share": 0.05}}),
        ("neighbour", {"neighbour": None}),
        (ScoreGap(0.3), "gap:threshold=0.3"),
    ],
)
def test_an_oracle_is_written_in_one_way_everywhere(choice, same):
    assert oracle_of(choice) == oracle_of(same)
    assert oracle_of(oracle_text(oracle_of(choice))) == oracle_of(choice)


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        ("gapp", UnknownName, "did you mean 'gap'"),
        ("gap:treshold=0.2", UnknownName, "did you mean 'threshold'"),
        ("gap:0.2", InvalidArgument, "'0.2' must be a parameter=value"),
        ("gap:threshold=2", InvalidArgument, "threshold=2 must lie strictly between 0 and 1"),
        ("gap:threshold=much", InvalidArgument, "threshold='much' must be of the kind of its default 0.1"),
        ("amounts:tolerance=-1", InvalidArgument, "tolerance=-1 must be at least 0"),
        ("robustness:neighbours=0", InvalidArgument, "neighbours=0 must be a whole number of at least 1"),
        ({"gap": {}, "flip": {}}, InvalidArgument, "must be one name with its parameters"),
        ({"gap": 0.2}, InvalidArgument, "must be its parameters by name"),
    ],
)
def test_a_wrong_choice_is_named_with_its_cure(choice, error, message):
    with pytest.raises(error, match=message):
        oracle_of(choice)


@pytest.mark.parametrize("name", ["flip", "gap", "direct", "robustness"])
def test_labels_of_a_regression_are_not_compared_in_silence(name):
    each = TREATMENTS["paid"]
    with pytest.raises(InvalidArgument, match="amounts"):
        oracle_of(name).judge(each.rows[:5], each.domain, each.model)


def test_amounts_are_not_made_of_classes():
    each = TREATMENTS["flipped"]
    with pytest.raises(InvalidArgument, match="use flip or gap"):
        oracle_of("amounts").judge(each.rows[:5], each.domain, each.model)


@pytest.mark.parametrize("name", ["resampled", "neighbour"])
def test_an_oracle_that_learns_says_so(name):
    each = TREATMENTS["flipped"]
    with pytest.raises(InvalidArgument, match="has not seen real rows"):
        oracle_of(name).judge(each.rows[:5], each.domain, each.model)
    with pytest.raises(InvalidArgument, match="there are none"):
        ready(oracle_of(name), None, each.domain, each.model)


@pytest.mark.parametrize("name", ["resampled", "neighbour", "robustness", "direct"])
def test_a_tolerance_compares_amounts(name):
    each = TREATMENTS["paid"]
    judge = ready(oracle_of(name), each.rows, each.domain, each.model)
    assert judge.words.startswith("would get an answer more than 500 away")
    verdict = judge.judge(each.rows[:400], each.domain, each.model)
    assert np.isfinite(verdict.pairs.answers).all()


def test_another_seed_meets_other_people():
    each = TREATMENTS["wavering"]
    first, second = (oracle_of(f"robustness:seed={seed}").people(each.rows[:50], each.domain).rows for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_a_causal_graph_is_one_line():
    graph = CausalGraph.of({"income": ["sex", "education"], "savings": "income"})
    assert CausalGraph.read(str(graph)) == graph
    with pytest.raises(DomainError, match="cannot be read"):
        CausalGraph.read("income<-")


def salaries(n=400):
    rng = np.random.default_rng(0)
    sex, years = rng.choice(["f", "m"], n), rng.integers(0, 30, n)
    pay = 30_000 + 800 * years + 2_000 * (sex == "m") + rng.normal(0, 300, n)
    return pd.DataFrame({"sex": sex, "years": years, "pay": pay})


def regression(frame):
    inputs = pd.DataFrame({"m": frame["sex"] == "m", "years": frame["years"]})
    fitted = LinearRegression().fit(inputs, frame["pay"])
    return lambda table: fitted.predict(pd.DataFrame({"m": table["sex"] == "m", "years": table["years"]}))


@pytest.mark.parametrize(("tolerance", "outcome"), [(1_000, "violation"), (5_000, "pass")])
def test_a_regression_is_scanned_by_its_amounts(tolerance, outcome, tmp_path):
    frame = salaries(4_000)
    domain = eh.infer(frame, label="pay", protected=["sex"])
    domain = eh.TabularDomain(domain.columns, ("sex",), eh.Label("pay", unit="EUR", tolerance=tolerance))
    data = Dataset("salaries", frame, domain)
    model = eh.wrap(regression(frame), domain)
    result = eh.scan(model, data, budget=eh.Budget(candidates=200), options=eh.Options(rate_rows=10_000))
    assert result.header.oracle == f"amounts:tolerance={tolerance},unit=EUR"
    assert result.outcome == outcome
    if outcome == "violation":
        kept = result.witnesses[0]
        assert abs(kept.outcome - kept.twin_outcome) == pytest.approx(2_000, abs=150)
        assert "becomes" in kept.sentence
        assert f"more than {tolerance:,} EUR away" in result.summary()
    assert result.report(tmp_path / "report.html").exists()
    measured = eh.measure(model, data, options=eh.MeasureOptions(rate_rows=300, natural_candidates=0, null_draws=1, draws=199))
    assert measured.header.oracle == f"amounts:tolerance={tolerance},unit=EUR"
    assert (measured.individual[0].rate.unfair > 0) == (outcome == "violation")


def test_a_label_is_an_amount_or_has_classes(tmp_path):
    for wrong in ({"values": ("a", "b"), "unit": "EUR"}, {"tolerance": 3.0}, {"unit": "EUR", "tolerance": -1.0}):
        with pytest.raises(DomainError):
            eh.Label("y", **wrong)
    columns = (eh.Column("sex", "category", ("f", "m")),)
    domain = eh.TabularDomain(columns, ("sex",), eh.Label("pay", unit="EUR", tolerance=500.0, share=0.1))
    save(domain, tmp_path / "domain.yaml")
    assert load(tmp_path / "domain.yaml") == domain


def test_the_command_the_file_and_python_agree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = salaries(120)
    frame["approved"] = np.where(frame["pay"] > frame["pay"].median(), "yes", "no")
    frame.drop(columns="pay").to_csv("people.csv", index=False)
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from skops.io import dump

    estimator = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    dump(estimator.fit(frame[["sex", "years"]], frame["approved"]), "model.skops")
    runner, app = CliRunner(), build()
    begun = runner.invoke(app, ["init", "people.csv", "--label", "approved", "--favourable", "yes", "--protected", "sex"])
    assert begun.exit_code == 0, begun.output
    with open("evenhand.yaml", "a") as file:
        file.write("\nmodel: model.skops\noracle: {gap: {threshold: 0.01}}\n")
    assert read_project("evenhand.yaml").oracle == {"gap": {"threshold": 0.01}}
    by_file = runner.invoke(app, ["scan", "--candidates", "200", "--json"])
    by_flag = runner.invoke(app, ["scan", "--candidates", "200", "--json", "--oracle", "robustness:neighbours=4"])
    told = [json.loads(each.stdout)["header"]["oracle"] for each in (by_file, by_flag)]
    assert told == ["gap:threshold=0.01", "robustness:neighbours=4"]
    replayed = runner.invoke(app, ["replay", "runs/witnesses", "--json"])
    pairs = json.loads(replayed.stdout)["body"]["replays"]
    assert pairs
    assert all(pair["unfair"] for pair in pairs)


def test_a_project_keeps_its_oracle(tmp_path):
    columns = (eh.Column("sex", "category", ("f", "m")),)
    domain = eh.TabularDomain(columns, ("sex",), eh.Label("y", ("no", "yes"), ("yes",)))
    for chosen in ("flip", {"gap": {"threshold": 0.2}}):
        save_project(Project(domain, oracle=chosen), tmp_path / "evenhand.yaml")
        assert read_project(tmp_path / "evenhand.yaml").oracle == chosen


def test_every_oracle_explains_itself():
    for entry in ORACLES.entries().values():
        assert entry.summary.endswith((".", ":")), entry.name
        assert eh.contract.words_of(entry.make())
