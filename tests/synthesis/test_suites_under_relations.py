"""Every suite keeps every kind of relation: tests for the paths of a model, steered rows, boundaries, combinations, rows to be refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.command import evenhand

from evenhand.arrays import Labels, Rows
from evenhand.domain.columns import Column
from evenhand.domain.relations import Relation, find_relations
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.measures.coverage.paths import cover, drawer
from evenhand.measures.coverage.surrogate import Imitated, SurrogateSettings, grow
from evenhand.synthesis.box import Box
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.edge_rows import boundary_rows, negative_frame
from evenhand.synthesis.implied_boxes import implied_box
from evenhand.synthesis.steered_trees import SteeredTrees
from evenhand.synthesis.value_combinations import covering_rows
from evenhand.synthesis.wishes import Wishes

CITIES = 40
LISTED = {"sex": 2, "city": CITIES, "country": 7, "kind": 3}
WHOLE = ("hours", "loan", "claims", "extra", "grade", "bonus", "age", "born")
RULES = (
    "tax == 0.2 * first within 0.005",
    "net == first + second - tax",
    "born == -age + 2024",
    "pay == hours * rate",
    "burden == loan / first within 0.0005",
    "city determines country",
    "is_0 + is_1 + is_2 == 1",
    "start < end",
    'kind == "kind0" => claims == 0.0',
    'kind == "kind1" => extra is missing',
    "grade < 4 => bonus == 0.0",
)


def _cells(n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    first, second = np.round(np.exp(rng.normal(7, 0.6, n)), 2), np.round(np.exp(rng.normal(5, 1, n)), 2)
    hours, rate, loan = rng.integers(10, 60, n), np.round(rng.normal(30, 5, n).clip(10), 2), rng.integers(1_000, 90_000, n)
    city, start, kind, group = rng.integers(0, CITIES, n), rng.integers(14_000, 19_000, n), rng.integers(0, 3, n), rng.integers(0, 3, n)
    grade, age, tax = rng.integers(1, 6, n), rng.integers(18, 80, n), np.round(0.2 * first, 2)
    return {
        "sex": rng.integers(0, 2, n),
        "first": first,
        "second": second,
        "tax": tax,
        "net": np.round(first + second - tax, 2),
        "hours": hours,
        "rate": rate,
        "pay": np.round(hours * rate, 2),
        "loan": loan,
        "burden": np.round(loan / first, 3),
        "city": city,
        "country": (city * 11) % 7,
        "start": start,
        "end": start + 1 + rng.geometric(0.02, n),
        **{f"is_{value}": group == value for value in range(3)},
        "kind": kind,
        "claims": np.where(kind == 0, 0, rng.integers(1, 500, n)),
        "extra": np.where(kind == 1, np.nan, rng.integers(0, 300, n)),
        "grade": grade,
        "bonus": np.where(grade >= 4, np.round(rng.pareto(2, n) * 300 + 1), 0),
        "age": age,
        "born": 2024 - age,
    }


def _column(name: str, cells: np.ndarray) -> Column:
    if name in LISTED:
        return Column(name, "category", tuple(f"{name}{value}" for value in range(LISTED[name])))
    if name.startswith("is_"):
        return Column(name, "boolean", (0, 1))
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    if name in ("start", "end"):
        return Column(name, "date", low=int(low), high=int(high))
    if name in WHOLE:
        return Column(name, "integer", low=int(low), high=int(high), missing=float(np.isnan(cells).mean()))
    return Column(name, "real", low=low, high=high)


def related_table(n: int, seed: int) -> tuple[Rows, TabularDomain]:
    """Every kind of relation, several of them following from what follows."""
    cells = {name: np.asarray(column, dtype=np.float64) for name, column in _cells(n, seed).items()}
    columns = tuple(_column(name, column) for name, column in cells.items())
    return np.column_stack(list(cells.values())), TabularDomain(columns, ("sex",), Label("granted", ("no", "yes"), ("yes",)))


ROWS, DOMAIN = related_table(1_500, 0)


@pytest.fixture(scope="module")
def relations() -> tuple[Relation, ...]:
    found = find_relations(ROWS, DOMAIN, np.random.default_rng(0))
    assert {each.text for each in found} == set(RULES)
    return found


@pytest.fixture(scope="module")
def trees() -> ChainedTrees:
    return ChainedTrees.fit(ROWS, DOMAIN, np.random.default_rng(0))


@pytest.fixture(scope="module")
def moved() -> SteeredTrees:
    return _steered("first up 20 %")


def _steered(words: str) -> SteeredTrees:
    return SteeredTrees.of(ROWS, DOMAIN, Wishes.preset(words, DOMAIN), np.random.default_rng(0))


def assert_kept(rows: Rows, relations: tuple[Relation, ...]) -> None:
    broken = {each.text: float(1 - each.rule.holds(rows).mean()) for each in relations if not each.rule.holds(rows).all()}
    assert not broken


def _above(*names: str) -> dict[str, float]:
    """A number in every column, higher from name to name, so that two columns that go together are told apart."""
    return {name: float(np.nanquantile(ROWS[:, DOMAIN.place(name)], 0.4 + 0.2 * at)) for at, name in enumerate(names)}


def _model(*names: str):
    ends = _above(*names)

    def answers(rows: Rows) -> Labels:
        with np.errstate(invalid="ignore"):
            above = [rows[:, DOMAIN.place(name)] > end for name, end in ends.items()]
        return (np.sum(above, axis=0) % 2).astype(np.intp)

    return answers


ASKED = (("tax", "net"), ("pay", "burden"), ("country", "is_1", "is_2"), ("start", "end"), ("claims", "extra", "bonus"), ("born", "net"))
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("population", "asked"),
    [
        pytest.param(
            population, asked, marks=SLOW if population == "moved" and asked != ASKED[0] else (), id=f"{population}-{'-'.join(asked)}"
        )
        for population in ("trees", "moved")
        for asked in ASKED
    ],
)
def test_tests_for_the_paths_of_a_model_keep_what_it_asks_about(population, asked, relations, request) -> None:
    """A path that asks about a tax cuts the income that the tax is computed from."""
    source = request.getfixturevalue(population)
    rng = np.random.default_rng(1)
    settings = SurrogateSettings(rows=60, leaves=6, split_rows=10)
    surrogate = grow(Imitated(_model(*asked), source.domain, ("no", "yes")), drawer(source), ROWS[:400], rng, settings)
    suite = cover(surrogate, drawer(source), 30, rng)
    assert len(surrogate.paths) > 2
    assert len(suite.rows) == 30
    assert (surrogate.path_of(suite.rows) == suite.path).all()
    assert_kept(suite.rows, relations)


@pytest.mark.parametrize(
    "words",
    [
        "first up 20 %",
        *(pytest.param(words, marks=SLOW) for words in ("1:1 sex", "grade at least 3", "end up 30", "city3 only", "extra 40 % missing")),
    ],
)
def test_steered_rows_keep_every_relation(words, relations) -> None:
    steered = _steered(words)
    assert steered.overridden == ()
    assert_kept(steered.sample(400, np.random.default_rng(2)), relations)


def test_a_wish_about_a_computed_number_takes_precedence_and_is_told() -> None:
    steered = _steered("tax up 500")
    assert steered.overridden == ("tax == 0.2 * first within 0.005",)
    rows = steered.sample(200, np.random.default_rng(3))
    assert rows[:, DOMAIN.place("tax")].min() > 500
    assert np.allclose(rows[:, DOMAIN.place("net")], rows[:, 1] + rows[:, 2] - rows[:, 3], atol=0.005)


@pytest.mark.slow
def test_boundaries_and_combinations_keep_every_relation(relations) -> None:
    ruled = replace(DOMAIN, constraints=tuple(each.rule for each in relations))
    rng = np.random.default_rng(4)
    assert_kept(boundary_rows(ruled, ROWS, rng).rows, relations)
    few = [DOMAIN.place(name) for name in ("kind", "claims", "extra", "is_0", "is_1", "is_2", "start", "end", "grade", "bonus")]
    columns = tuple(DOMAIN.columns[at] for at in few)
    small = TabularDomain(columns)
    kept = find_relations(ROWS[:, few], small, rng)
    under = replace(small, constraints=tuple(each.rule for each in kept))
    for ways in (2, 3):
        assert_kept(covering_rows(under, ROWS[:, few], rng, ways).rows, kept)


def test_every_kind_of_relation_is_broken_alone_by_a_row_to_be_refused(relations) -> None:
    ruled = replace(DOMAIN, constraints=tuple(each.rule for each in relations))
    faults = negative_frame(ruled, ROWS, np.random.default_rng(5))["fault"]
    assert {f"breaks the rule {rule}" for rule in RULES} <= set(faults)


def test_a_box_is_carried_back_to_what_its_columns_follow_from(trees: ChainedTrees) -> None:
    place = DOMAIN.place
    derivations = [each for guide in trees.guides.values() for each in guide.derivations]
    orders = [each for guide in trees.guides.values() for each in (*guide.above, *guide.below)]
    countries = np.arange(7) == 3
    box = Box(
        {place("country"): countries, place("is_2"): np.array([False, True])},
        {place("tax"): (0.0, 100.0), place("extra"): (0.0, 9.0), place("bonus"): (1.0, 9.0), place("end"): (-np.inf, 15_000.0)},
    )
    cut = implied_box(box, derivations, orders, DOMAIN)
    assert cut.intervals[place("first")][1] == pytest.approx(500.025)
    assert cut.intervals[place("start")][1] == 15_000.0
    assert cut.intervals[place("grade")][0] == pytest.approx(4.0)
    assert np.flatnonzero(cut.values[place("city")]).tolist() == [city for city in range(CITIES) if (city * 11) % 7 == 3]
    assert cut.values[place("kind")].tolist() == [True, False, True]
    assert all(cut.values[place(name)].tolist() == [True, False] for name in ("is_0", "is_1"))


@pytest.mark.slow
def test_the_command_writes_paths_under_the_relations_that_it_found(tmp_path, relations) -> None:
    frame = DOMAIN.decode(ROWS).assign(granted=np.where(_model("tax", "net")(ROWS) == 1, "yes", "no"))
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "model.py").write_text(
        "import numpy as np\n\ndef predict(frame):\n"
        f"    ends = {_above('tax', 'net')!r}\n"
        "    above = sum((frame[name] > end).to_numpy().astype(int) for name, end in ends.items())\n"
        "    return np.where(above % 2 == 1, 'yes', 'no')\n"
    )
    described = ("--label", "granted", "--favourable", "yes", "--protected", "sex", "--model", "model.py:predict")
    evenhand("init", "people.csv", *described, cwd=tmp_path, check=0)
    evenhand("synth", "evenhand.yaml", "--suite", "paths", "--rows", 120, "--out", "paths.csv", cwd=tmp_path, check=0)
    written = pd.read_csv(tmp_path / "paths.csv")
    assert len(written) == 120
    assert np.allclose(written["tax"], 0.2 * written["first"], atol=0.0051)
    assert np.allclose(written["net"], written["first"] + written["second"] - written["tax"], atol=0.0051)
