"""certify of regressions on domains small enough to ask about every input: share and worst gap must be the counted ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.twins import Comparison
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.measures.proofs import ProofLimits, certify
from evenhand.measures.rates import judge_all
from evenhand.oracles.amounts import AmountGap

COLUMNS = (
    Column("sex", "category", ("f", "m", "x")),
    Column("job", "category", ("a", "b", "c"), missing=0.2),
    Column("years", "integer", low=0, high=12),
    Column("rank", "ordinal", ("low", "mid", "high")),
)


def domain_of(**changes: Any) -> TabularDomain:
    return TabularDomain(COLUMNS, **{"protected": ("sex",), "label": Label("pay", unit="EUR", tolerance=120.0), **changes})


def whole_domain() -> TabularDomain:
    """The same without missing cells."""
    columns = (COLUMNS[0], Column("job", "category", ("a", "b", "c")), *COLUMNS[2:])
    return TabularDomain(columns, protected=("sex",), label=Label("pay", unit="EUR", tolerance=120.0))


def training(domain: TabularDomain, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    rows = domain.sample(n, rng)
    filled = np.nan_to_num(rows, nan=1.0)
    return rows, 2000 + 150 * filled[:, 2] + 400 * (filled[:, 0] == 1) * (filled[:, 2] > 6) + 90 * filled[:, 3] + rng.normal(0, 60, n)


def every_input(domain: TabularDomain) -> tuple[np.ndarray, np.ndarray]:
    levels, shares = [], []
    for column in domain.columns:
        codes = np.arange(column.lowest, column.highest + 1)
        each = np.full(len(codes), (1 - column.missing) / len(codes))
        levels.append(np.append(codes, np.nan) if column.missing else codes)
        shares.append(np.append(each, column.missing) if column.missing else each)
    rows = np.stack([part.ravel() for part in np.meshgrid(*levels, indexing="ij")], axis=1)
    weights = np.prod([part.ravel() for part in np.meshgrid(*shares, indexing="ij")], axis=0)
    kept = domain.keeps_constraints(rows)
    return rows[kept], weights[kept] / weights[kept].sum()


def assert_counted(model: Any, domain: TabularDomain, oracle: AmountGap | None = None) -> None:
    """The exact share and the worst gap are those of asking about every input."""
    oracle = oracle or AmountGap()
    rows, weights = every_input(domain)
    verdict = judge_all(rows, domain, model, oracle.learned(None, domain, model))
    found = certify(model, domain, limits=ProofLimits(seconds=20), oracle=oracle, sample_rows=400)
    assert found.is_exact
    assert 0.0 < found.lower < 1.0 or oracle.tolerance == 0.0
    assert found.lower == pytest.approx(float(weights[verdict.unfair].sum()), abs=1e-9)
    worst = float(verdict.gap.max())
    assert found.worst_gap.lower <= worst <= found.worst_gap.upper
    assert found.worst_gap.upper - found.worst_gap.lower < 3e-3 * worst + 1e-6  # XGBoost adds up in single precision


def regressors() -> dict[str, Any]:
    import lightgbm
    import xgboost
    from catboost import CatBoostRegressor
    from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.tree import DecisionTreeRegressor

    return {
        "tree": DecisionTreeRegressor(max_depth=6),
        "forest": RandomForestRegressor(5, max_depth=4, random_state=0),
        "extra": ExtraTreesRegressor(5, max_depth=4, random_state=0),
        "gradient": GradientBoostingRegressor(n_estimators=8, learning_rate=0.5),
        "hist": HistGradientBoostingRegressor(max_iter=8, learning_rate=0.5),
        "hist gamma": HistGradientBoostingRegressor(max_iter=8, learning_rate=0.5, loss="gamma"),
        "lightgbm": lightgbm.LGBMRegressor(n_estimators=8, learning_rate=0.5, verbose=-1),
        "lightgbm poisson": lightgbm.LGBMRegressor(n_estimators=8, learning_rate=0.5, objective="poisson", verbose=-1),
        "xgboost": xgboost.XGBRegressor(n_estimators=8, learning_rate=0.5, max_depth=3),
        "xgboost gamma": xgboost.XGBRegressor(n_estimators=8, learning_rate=0.5, max_depth=3, objective="reg:gamma"),
        "catboost": CatBoostRegressor(iterations=8, learning_rate=0.5, depth=3, verbose=0, allow_writing_files=False),
    }


@pytest.mark.parametrize("name", list(regressors()))
def test_a_regression_is_certified_exactly(name: str) -> None:
    domain = whole_domain() if name == "gradient" else domain_of()  # that one takes no missing cells
    model = eh.wrap(regressors()[name].fit(*training(domain)), domain, takes="codes")
    assert_counted(model, domain)


@pytest.mark.parametrize("oracle", [AmountGap(share=0.08), AmountGap(tolerance=250.0, share=0.06), AmountGap(tolerance=0.0)])
@pytest.mark.parametrize("name", ["hist", "hist gamma"])
def test_tolerances_in_the_unit_as_a_share_and_none_at_all(name: str, oracle: AmountGap) -> None:
    domain = domain_of()
    model = eh.wrap(regressors()[name].fit(*training(domain)), domain, takes="codes")
    assert_counted(model, domain, oracle)


def test_constraints_and_bins_of_what_is_protected_are_kept() -> None:
    constraints = compile_constraints(["not (sex == 'x' and rank == 'low')"], COLUMNS)
    domain = domain_of(constraints=constraints, protected=("sex", "years"), comparisons={"years": Comparison(edges=(0.0, 6.0, 12.0))})
    model = eh.wrap(regressors()["tree"].fit(*training(domain)), domain, takes="codes")
    assert_counted(model, domain, AmountGap(tolerance=1_400.0))


def test_one_of_several_amounts_is_certified() -> None:
    from sklearn.multioutput import MultiOutputRegressor
    from sklearn.tree import DecisionTreeRegressor

    domain = whole_domain()
    rows, pay = training(domain)
    both = np.column_stack([np.full(len(pay), 7.0), pay])
    for estimator in (DecisionTreeRegressor(max_depth=5), MultiOutputRegressor(DecisionTreeRegressor(max_depth=5))):
        assert_counted(eh.wrap(estimator.fit(rows, both), domain, takes="codes", output=1), domain)


@pytest.mark.slow
def test_boosters_from_their_files_are_certified(tmp_path: Path) -> None:
    import lightgbm
    import xgboost

    domain = domain_of()
    rows, pay = training(domain)
    lightgbm.train({"objective": "regression", "verbose": -1}, lightgbm.Dataset(rows, pay), 6).save_model(str(tmp_path / "pay.txt"))
    xgboost.train({"objective": "reg:squarederror", "max_depth": 3}, xgboost.DMatrix(rows, pay), 6).save_model(str(tmp_path / "pay.ubj"))
    for name in ("pay.txt", "pay.ubj"):
        assert_counted(eh.wrap(tmp_path / name, domain, takes="codes"), domain)


def test_an_onnx_forest_for_amounts_is_certified(tmp_path: Path) -> None:
    convert = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import FloatTensorType

    domain = whole_domain()
    forest = regressors()["forest"].fit(*training(domain))
    file = tmp_path / "pay.onnx"
    file.write_bytes(convert.convert_sklearn(forest, initial_types=[("rows", FloatTensorType([None, 4]))]).SerializeToString())
    assert_counted(eh.wrap(file, domain), domain)


def torch_net(domain: TabularDomain) -> Any:
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    with torch.no_grad():
        net[-1].weight *= 900.0
    return eh.wrap(net, domain)


def network(name: str, domain: TabularDomain) -> Any:
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "torch":
        return torch_net(domain)
    rows, pay = training(domain)
    if name == "linear":
        return eh.wrap(LinearRegression().fit(rows, pay), domain, takes="codes")
    units, output = ((8, 5), None) if name == "network" else ((6,), 1)
    net = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=units, max_iter=60, random_state=0, solver="lbfgs"))
    fitted = net.fit(rows, pay if output is None else np.column_stack([np.full(len(pay), 7.0), pay]))
    return eh.wrap(fitted, domain, takes="codes", output=output)


def middling(model: Any, domain: TabularDomain) -> float:
    """A tolerance that some inputs exceed."""
    rows, _ = every_input(domain)
    gaps = judge_all(rows, domain, model, AmountGap(tolerance=0.0)).gap
    return float(np.quantile(gaps, 0.6)) if np.ptp(gaps) > 1e-6 else 0.9 * float(gaps.max())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["network", "one of several", "torch"])
def test_a_network_that_says_amounts_is_certified_exactly(name: str) -> None:
    domain = whole_domain()
    model = network(name, domain)
    assert_counted(model, domain, AmountGap(tolerance=middling(model, domain)))
    if name == "network":
        assert_counted(model, domain, AmountGap(share=0.04))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_for_amounts_keeps_constraints_and_bins() -> None:
    constraints = compile_constraints(["not (sex == 'x' and rank == 'low')"], COLUMNS)
    domain = TabularDomain(
        whole_domain().columns, protected=("sex", "years"), label=Label("pay", unit="EUR"), constraints=constraints,
        comparisons={"years": Comparison(edges=(0.0, 6.0, 12.0))},
    )  # fmt: skip
    model = network("network", domain)
    assert_counted(model, domain, AmountGap(tolerance=middling(model, domain)))


def test_a_linear_model_moves_everybody_alike() -> None:
    domain = whole_domain()
    model = network("linear", domain)
    step = 2 * abs(float(model.source.coef_[0]))  # from the first sex to the third
    beyond, within = (certify(model, domain, oracle=AmountGap(tolerance=share * step), sample_rows=200) for share in (0.99, 1.01))
    assert (beyond.lower, within.upper) == (1.0, 0.0)
    assert within.worst_gap.lower <= step <= within.worst_gap.upper
    assert within.worst_gap.upper == pytest.approx(step, rel=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bounds_of_a_network_on_real_columns_hold() -> None:
    whole = whole_domain()
    domain = TabularDomain(
        (*whole.columns[:2], Column("years", "real", low=0.0, high=12.0), whole.columns[3]), ("sex",), label=Label("pay", unit="EUR")
    )
    model = network("network", domain)
    rows = domain.sample(4_000, np.random.default_rng(1))
    verdict = judge_all(rows, domain, model, AmountGap(tolerance=200.0))
    found = certify(model, domain, limits=ProofLimits(seconds=2.0), oracle=AmountGap(tolerance=200.0), sample_rows=400)
    share = float(verdict.unfair.mean())
    assert found.lower - 0.03 <= share <= found.upper + 0.03
    assert found.upper - found.lower < 0.1
    assert float(verdict.gap.max()) <= found.worst_gap.upper


def test_short_time_gives_bounds_that_hold() -> None:
    domain = domain_of()
    model = eh.wrap(regressors()["lightgbm"].fit(*training(domain)), domain, takes="codes")
    rows, weights = every_input(domain)
    verdict = judge_all(rows, domain, model, AmountGap(tolerance=120.0))
    found = certify(model, domain, limits=ProofLimits(seconds=None, boxes=3), sample_rows=400)
    assert found.ended == "boxes"
    assert found.lower - 1e-9 <= float(weights[verdict.unfair].sum()) <= found.upper + 1e-9
    assert found.worst_gap.lower <= float(verdict.gap.max()) <= found.worst_gap.upper


def test_the_verb_tells_share_gap_and_amounts() -> None:
    domain = domain_of()
    rows, pay = training(domain)
    frame = domain.decode(rows).assign(pay=pay)
    data = eh.datasets.Dataset("pay", frame, domain)
    model = eh.wrap(regressors()["tree"].fit(rows, pay), data, takes="codes")
    result = eh.certify(model, data)
    assert result.outcome == "violation"
    assert "would get an amount more than 120 EUR away" in result.summary()
    assert "twins whose amounts differ most" in result.summary()
    told = result.as_dict()
    assert told["body"]["certificate"]["worst_gap"]["unit"] == "EUR"
    pair = told["witnesses"][0]
    assert abs(pair["outcome"] - pair["twin_outcome"]) == pytest.approx(pair["gap"])
    assert pair["gap"] > 120
    assert eh.certify(model, data, oracle="amounts:tolerance=5000").outcome == "pass"


def test_what_cannot_be_read_is_refused_by_name() -> None:
    from sklearn.neighbors import KNeighborsRegressor

    from evenhand.oracles.neighbour import NearestNeighbour

    domain = whole_domain()
    with pytest.raises(MissingAbility, match="no callables"):
        certify(eh.wrap(lambda codes: codes[:, 2] * 100.0, domain, takes="codes"), domain)
    with pytest.raises(MissingAbility, match=r"cannot read a .*KNeighborsRegressor"):
        certify(eh.wrap(KNeighborsRegressor().fit(*training(domain)), domain, takes="codes"), domain)
    model = eh.wrap(regressors()["tree"].fit(*training(domain)), domain, takes="codes")
    with pytest.raises(InvalidArgument, match="oracle `amounts` alone"):
        certify(model, domain, oracle=NearestNeighbour())
