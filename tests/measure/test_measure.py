"""measure() says what is true of planted models, and what it cannot say of odd ones."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.datasets.dataset import Dataset, from_frame
from evenhand.errors import DataError, DomainError, InvalidArgument, UnknownName
from evenhand.measures.oracles_side_by_side import CompareSettings, compare_oracles
from evenhand.measures.rate_stream import RateStream
from evenhand.measures.reweighted_rate import RateQuestion, natural_rate, reweighted_rate
from evenhand.oracles.flip import LabelFlip
from evenhand.oracles.parts.counterfactuals import ResampledChain
from evenhand.oracles.parts.learned import LearnedOracle
from evenhand.oracles.resampled import ResampledDescendants
from evenhand.planted.shapes import shapes
from evenhand.synthesis.chained_trees import ChainedTrees

QUICK = eh.MeasureOptions(rate_rows=1_000, natural_candidates=0, null_draws=1, compare_rows=200, draws=199)


def table(n=600, seed=0, labels=("no", "yes")):
    """Districts go with the group, income is free, and the truth follows income."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n)
    district = np.where(rng.random(n) < 0.9, np.where(group == "a", "north", "south"), np.where(group == "a", "south", "north"))
    income = rng.integers(0, 100, n)
    truth = np.where(income + rng.normal(0, 10, n) > 50, labels[1], labels[0])
    return pd.DataFrame({"group": group, "district": district, "income": income, "truth": truth, "weight": rng.uniform(0.5, 2, n)})


def data(frame=None, label=True):
    columns = (
        eh.Column("group", "category", ("a", "b")),
        eh.Column("district", "category", ("north", "south")),
        eh.Column("income", "integer", low=0, high=99),
    )
    chosen = eh.Label("truth", ("no", "yes"), ("yes",)) if label else None
    return Dataset("people", table() if frame is None else frame, eh.TabularDomain(columns, ("group",), chosen))


def by_district(frame):
    return np.where(frame["income"] + 15 * (frame["district"] == "north") > 50, "yes", "no")


def by_group(frame):
    return np.where(frame["income"] + 20 * (frame["group"] == "a") > 50, "yes", "no")


def fair(frame):
    return np.where(frame["income"] > 50, "yes", "no")


def test_a_model_that_reads_the_group_is_a_violation():
    result = eh.measure(by_group, data(), options=QUICK)
    assert result.outcome == "violation"
    real, random = result.individual[:2]
    assert (real.name, real.rate.population, random.name, random.rate.population) == ("IF_o", "data", "IF_r", "domain")
    assert 0.2 in random.rate.interval
    assert result.figure("statistical_parity").verdict == "different"
    assert result.anytime["low"] > 0.1
    assert "whenever you stop" in result.summary()


@pytest.mark.slow
def test_a_proxy_passes_the_direct_flip_and_is_found_by_the_others():
    result = eh.measure(by_district, data(), options=eh.MeasureOptions(rate_rows=500, natural_candidates=0, null_draws=19))
    views = {view.name: view for view in result.comparison.views}
    assert views["direct flip"].rate.unfair == 0
    assert views["descendants resampled"].excess > 0.05
    assert views["descendants resampled"].p_value == 0.05
    assert "does not read it" in result.notes[-1]
    assert "descendants resampled" in result.notes[-1]


def test_a_causal_graph_says_what_follows():
    free = eh.MeasureOptions(rate_rows=200, natural_candidates=0, null_draws=0, graph=eh.CausalGraph.of({"income": ["group"]}))
    held = eh.measure(by_district, data(), options=free).comparison["descendants resampled"]
    moved = eh.MeasureOptions(rate_rows=200, natural_candidates=0, null_draws=0, graph=eh.CausalGraph.of({"district": "group"}))
    assert eh.measure(by_district, data(), options=moved).comparison["descendants resampled"].rate.interval.estimate > 0.08
    assert held.rate.interval.estimate < 0.08


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"incom": ["group"]}, "did you mean 'income'"),
        ({"income": ["district"], "district": ["income"]}, "circle"),
        ({"group": ["income"]}, "protected column 'group'"),
    ],
)
def test_a_graph_that_makes_no_sense_is_named(graph, message):
    with pytest.raises((UnknownName, DomainError), match=message):
        eh.CausalGraph.of(graph).descendants(data().domain)


def test_a_graph_comes_from_yaml(tmp_path):
    path = tmp_path / "graph.yaml"
    path.write_text("district: [group]\nincome: district\n")
    assert eh.CausalGraph.load(path).descendants(data().domain) == ("district", "income")
    path.write_text("- district")
    with pytest.raises(DomainError, match="lists the causes"):
        eh.CausalGraph.load(path)


def test_a_constant_model_raises_an_alarm():
    result = eh.measure(lambda frame: np.full(len(frame), "no"), data(), options=QUICK)
    assert result.outcome == "inconclusive"
    assert "one answer, 'no', to all" in result.alarms[0]
    assert "ALARM" in result.summary()


def test_a_fair_model_is_not_convicted():
    result = eh.measure(fair, data(), options=QUICK)
    assert result.outcome in ("pass", "inconclusive")
    assert not [each for each in result.figures if each.verdict == "different"]
    wide = eh.measure(fair, data(table(4_000)), options=QUICK)
    assert wide.outcome == "pass"


def test_tolerated_gaps_pass():
    assert eh.measure(by_district, data(table(6_000)), options=QUICK).outcome == "violation"
    tolerant = eh.MeasureOptions(rate_rows=500, natural_candidates=0, null_draws=0, max_gap=0.6)
    assert eh.measure(by_district, data(table(6_000)), options=tolerant).outcome == "pass"


def test_no_labels_and_missing_labels_and_strange_labels():
    without = eh.measure(eh.wrap(fair, data().domain), data(label=False), options=QUICK)
    assert "no labels" in without.notes[0]
    assert {each.metric for each in without.figures} == {"statistical_parity", "disparate_impact"}
    frame = table()
    frame.loc[:99, "truth"] = None
    some = eh.measure(fair, data(frame), options=QUICK)
    assert "100 of 600 labels are missing" in some.notes[0]
    assert sum(part.rows for part in some.figure("accuracy").groups) == 500
    with pytest.raises(DataError, match="the label 'maybe' is none"):
        eh.measure(fair, data(), options=eh.MeasureOptions(labels=["maybe"] * 600))
    with pytest.raises(InvalidArgument, match="labels has 3 values"):
        eh.measure(fair, data(), options=eh.MeasureOptions(labels=["yes"] * 3))


def test_weights_are_a_column_or_a_list():
    by_name = eh.measure(by_group, data(), options=eh.MeasureOptions(**{**vars(QUICK), "weights": "weight"}))
    by_list = eh.measure(by_group, data(), options=eh.MeasureOptions(**{**vars(QUICK), "weights": list(data().frame["weight"])}))
    assert by_name.figure("accuracy").as_dict() == by_list.figure("accuracy").as_dict()
    with pytest.raises(DataError, match="lacks the column 'wait'"):
        eh.measure(by_group, data(), options=eh.MeasureOptions(weights="wait"))


def test_one_group_in_the_data_and_very_few_rows():
    frame = table(80)
    frame["group"] = "a"
    alone = eh.measure(fair, data(frame), options=QUICK)
    assert alone.outcome == "inconclusive"
    assert {each.verdict for each in alone.figures} == {"insufficient"}
    few = eh.measure(fair, data(table(12)), options=QUICK)
    assert few.comparison is None
    assert "too few to learn plausible people" in " ".join(few.notes)


def test_a_real_number_needs_no_bins():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"wealth": rng.lognormal(3, 1, 800), "income": rng.integers(0, 100, 800)})
    frame["truth"] = np.where(frame["income"] > 50, "yes", "no")
    columns = (eh.Column("wealth", "real", low=0.0, high=1e6), eh.Column("income", "integer", low=0, high=99))
    rich = from_frame(frame, eh.TabularDomain(columns, (), eh.Label("truth", ("no", "yes"), ("yes",))))
    model = eh.wrap(lambda frame: np.where((frame["income"] > 50) | (frame["wealth"] > 60), "yes", "no"), rich.domain, takes="frame")
    result = eh.measure(model, rich, protected=["wealth"], options=QUICK)
    parity = result.figure("statistical_parity", "wealth")
    assert parity.verdict == "different"
    assert parity.curve["estimate"][-1] > parity.curve["estimate"][0] + 0.2
    assert "fifth of the people" in result.notes[-1]


@pytest.mark.slow
def test_many_classes_and_several_protected_columns():
    car = eh.datasets.car()
    first, second = car.domain.names[:2]
    rng = np.random.default_rng(0)
    answers = {tuple(row): int(rng.integers(4)) for row in np.unique(car.rows[:, :2], axis=0)}
    model = eh.wrap(lambda codes: np.eye(4)[[answers[tuple(row[:2])] for row in codes]], car.domain, takes="codes", returns="scores")
    quicker = eh.MeasureOptions(rate_rows=200, natural_candidates=0, compare_rows=0, draws=99)
    result = eh.measure(model, car, protected=[first, second], options=quicker)
    metrics = {each.metric for each in result.figures}
    assert "outcome_distribution" in metrics
    assert any(name.startswith("equal_opportunity[") for name in metrics)
    assert {each.attribute for each in result.figures} == {first, second, f"{first} and {second}"}


def test_a_regression_is_measured_by_its_amounts():
    from sklearn.linear_model import LinearRegression

    frame = table(1_500)
    wages = 1_000 + 10 * frame["income"] + 300 * (frame["group"] == "a")
    model = LinearRegression().fit(data(frame).rows, wages)
    labels = {"labels": wages.tolist(), "rate_rows": 300, "natural_candidates": 0, "null_draws": 1, "draws": 99}
    result = eh.measure(model, data(frame, label=False), options=eh.MeasureOptions(**labels))
    assert result.individual[0].rate.interval.estimate == 1
    assert result.figure("mean_amount").verdict == "different"
    assert result.figure("mean_amount").size.low < 300 < result.figure("mean_amount").size.high
    assert result.comparison["direct flip"].rate.interval.estimate == 1


def test_the_result_is_reproducible_and_renders(tmp_path):
    first, second = (eh.measure(by_group, data(), seed=3, options=QUICK).as_dict() for _ in range(2))
    assert json.dumps(first, default=str) == json.dumps(second, default=str)
    frame = table()
    frame["group"] = np.where(frame["group"] == "a", "<script>alert(1)</script>", "b")
    columns = (eh.Column("group", "category", ("<script>alert(1)</script>", "b")), *data().domain.columns[1:])
    domain = eh.TabularDomain(columns, ("group",), data().domain.label)
    page = eh.measure(by_district, from_frame(frame, domain, "odd & <b>"), options=QUICK).report(tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_the_weighted_rate_is_the_populations_own():
    planted = shapes()["wide_band"]
    rng = np.random.default_rng(0)
    trees = ChainedTrees.fit(planted.domain.sample(4_000, rng), planted.domain, rng)
    question = RateQuestion(planted.domain, planted.model, LabelFlip())
    plain = trees.sample(60_000, rng)
    truth = float(LabelFlip().judge(plain, planted.domain, planted.model).unfair.mean())
    unfair = plain[LabelFlip().judge(plain, planted.domain, planted.model).unfair][:2_000]
    found = natural_rate(trees, unfair, question, 3_000, rng)
    assert found.interval.low - 0.01 <= truth <= found.interval.high + 0.01
    assert found.effective_size > 1_000
    assert not found.warning
    uniform = planted.domain.sample(3_000, rng)
    far = reweighted_rate(uniform, np.zeros(3_000), trees, question)
    assert far.effective_size < 3_000
    assert "plain draws" in natural_rate(trees, unfair[:10], question, 200, rng).proposal


def test_a_row_always_meets_the_same_other_person():
    rows, domain = data().rows, data().domain
    other = LearnedOracle(ResampledDescendants(), ResampledChain.learn(rows, domain, np.random.default_rng(0)))
    whole, part = other.people(rows[:50], domain).rows, other.people(rows[20:30], domain).rows
    assert np.array_equal(whole[:, 20:30], part)
    own = domain.own_combination(rows[:50])
    assert np.array_equal(whole[own, np.arange(50)], rows[:50])


def test_neighbours_and_chance_agree_where_groups_are_alike():
    """The group says nothing about the rest: beyond chance there is nothing."""
    frame = table()
    frame["district"] = np.random.default_rng(1).permutation(frame["district"])
    model = eh.wrap(by_district, data().domain)
    found = compare_oracles(data(frame).rows, data().domain, model, np.random.default_rng(0), CompareSettings(rows=300, null_draws=9))
    assert abs(found["nearest real neighbour"].excess) < 0.06
    assert found["nearest real neighbour"].p_value > 0.05


def test_a_scan_says_what_is_known_while_it_runs():
    planted = shapes()["wide_band"]
    rng = np.random.default_rng(0)
    seen = []
    frame = planted.domain.decode(planted.domain.sample(500, rng))
    frame["decision"] = np.resize(["refused", "granted"], 500)
    options = eh.Options(rate_rows=100, most_witnesses=1, watch=lambda headway: seen.append(headway.note))
    result = eh.scan(planted.model, from_frame(frame, planted.domain), budget=eh.Budget(candidates=40_000), options=options)
    assert "whenever you stop" in seen[0]
    assert 3_900 < result.anytime["n"] <= 4_000
    assert "at least" in result.summary()
    assert result.as_dict()["body"]["anytime"]["population"] == "data"
    silent = eh.Options(rate_rows=100, most_witnesses=1, stream_share=0.0)
    assert eh.scan(planted.model, from_frame(frame, planted.domain), budget=eh.Budget(candidates=100), options=silent).anytime is None


def test_the_stream_holds_the_planted_rate():
    planted = shapes()["wide_band"]
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        stream = RateStream(_Uniform(planted.domain), planted.domain, planted.model, LabelFlip(), rng)
        held += all(float(planted.rate) in stream.advance(n) for n in range(64, 1_000, 64))
    assert held >= 18


class _Uniform:
    name = "domain"

    def __init__(self, domain):
        self.domain = domain

    def sample(self, n, rng):
        return self.domain.sample(n, rng)


@pytest.mark.slow
def test_the_command(tmp_path):
    frame = table(300)
    frame.loc[0, "truth"] = None
    frame.drop(columns="weight").to_csv(tmp_path / "people.csv", index=False)
    rows = data(table(300)).rows
    import skops.io
    from sklearn.tree import DecisionTreeClassifier

    from evenhand.domain.project_file import save_project
    from evenhand.domain.project_sections import DataSource, ModelSource, Project, ScanSettings

    skops.io.dump(DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows[:, :], table(300)["truth"]), tmp_path / "model.skops")
    source = ModelSource(path=tmp_path / "model.skops", takes="codes")
    project = Project(data().domain, DataSource(tmp_path / "people.csv"), source, ScanSettings(runs=tmp_path / "runs"))
    save_project(project, tmp_path / "evenhand.yaml")
    command = [sys.executable, "-m", "evenhand", "measure", str(tmp_path / "evenhand.yaml"), "--null-draws", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1, 3), done.stderr
    content = json.loads(done.stdout)
    assert (content["evenhand_result"], content["verb"]) == (2, "measure")
    assert "1 of 300 labels are missing" in content["body"]["notes"][0]
    assert (tmp_path / "runs" / "measurement.html").exists()


@pytest.mark.parametrize("wrong", [{"confidence": 1.0}, {"smallest_gap": 0}, {"rate_rows": 0}, {"max_gap": -0.1}])
def test_options_that_make_no_sense_are_named(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        eh.MeasureOptions(**wrong)


def test_every_real_row_is_asked_so_that_scan_and_measure_say_the_same():
    """12,000 rows are more than the 10,000 that are drawn elsewhere; all of them are asked, and the sentence says so."""
    from evenhand.datasets.dataset import Dataset
    from evenhand.planted import shapes

    planted = shapes()["wide_band"]
    rows = planted.domain.sample(12_000, np.random.default_rng(5))
    frame = planted.domain.decode(rows)
    frame[planted.domain.label.column] = np.array(planted.domain.label.values)[planted.model.scores(rows).argmax(axis=1)]
    data = Dataset("many", frame, planted.domain)
    options = eh.MeasureOptions(natural_candidates=0, compare_rows=0, draws=19)
    measured = eh.measure(planted.model, data, options=options).individual[0].rate
    scanned = eh.scan(planted.model, data, methods=["themis"], budget=eh.Budget(candidates=100)).rate
    assert measured == scanned
    assert (measured.interval.n, measured.whole) == (len(data.rows), True)
    assert "all 12,000 rows were asked" in scanned.sentence
    fewer = eh.scan(planted.model, data, methods=["themis"], budget=eh.Budget(candidates=100), options=eh.Options(rate_rows=2_000)).rate
    assert (fewer.interval.n, fewer.whole) == (2_000, False)
