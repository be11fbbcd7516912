"""A regression through every verb, on a table with odd names; several outputs, rankings and abstentions as people have them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.campaign.bench_records import Arena
from evenhand.campaign.repair_trial import Effort
from evenhand.campaign.sources import Given, open_model
from evenhand.errors import InvalidArgument, MissingAbility, ModelFailed, UnclearAnswers, UnsteadyModel, WrongAnswer

RNG = np.random.default_rng(5)
COUNT = 400
FLATS = pd.DataFrame(
    {
        "Größe m²": RNG.integers(20, 200, COUNT),
        "Lage; Ort": RNG.choice(["Nord", "Süd", "Ost"], COUNT),
        "gender": RNG.choice(["w", "m", "d"], COUNT),
        "rooms": RNG.integers(1, 7, COUNT),
    }
)
FLATS["Miete"] = (
    FLATS["Größe m²"] * 9 + 200 * (FLATS["Lage; Ort"] == "Süd") + 60 * (FLATS["gender"] == "m") + RNG.normal(0, 40, COUNT)
).round(2)
DATA = eh.open(FLATS, label="Miete", protected=["gender"])
BUDGET = eh.Budget(candidates=600)
SMALL = eh.Options(rate_rows=300, stream_share=0.0)
ORACLES = ("amounts:tolerance=20", "amounts:share=0.05")


def rent(frame: pd.DataFrame) -> Any:
    return frame["Größe m²"] * 9.0 + 200 * (frame["Lage; Ort"] == "Süd") + 60 * (frame["gender"] == "m")


MODEL = eh.wrap(rent, DATA)


def _bench() -> Any:
    return eh.bench(["themis", "evenhand"], [Given(Arena(DATA, ("gender",), MODEL, "rent"))], budget=BUDGET)


def _replayed() -> Any:
    found = eh.scan(MODEL, DATA, budget=BUDGET, oracle=ORACLES[0], options=SMALL)
    return eh.replay(found.witnesses[0], MODEL, DATA)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return eh.wrap(RandomForestRegressor(5, max_depth=9, random_state=0).fit(DATA.rows, FLATS["Miete"]), DATA, takes="codes")


def _certified() -> Any:
    return eh.certify(_forest(), DATA, oracle=ORACLES[0])


def _mended() -> Any:
    effort = Effort(candidates=300, judge_candidates=200, rate_rows=200)
    return eh.repair(
        _forest(),
        DATA,
        repairs=["retrain_twins", "equal_means"],
        options=eh.RepairOptions(seeds=2, effort=effort, oracle="amounts:tolerance=1"),
    )


VERBS: dict[str, Callable[[], Any]] = {
    "doctor": lambda: eh.doctor(MODEL, DATA),
    "scan": lambda: eh.scan(MODEL, DATA, budget=BUDGET, options=SMALL),
    "measure": lambda: eh.measure(MODEL, DATA, oracle=ORACLES[0], options=eh.MeasureOptions(rate_rows=300, null_draws=0)),
    "synth": lambda: eh.synth(DATA, rows=20),
    "bench": _bench,
    "compare": lambda: eh.compare(MODEL, MODEL, DATA),
    "replay": _replayed,
    "certify": _certified,
    "repair": _mended,
}


LONGER = ("bench", "measure", "compare", "repair")


@pytest.mark.parametrize("verb", [pytest.param(verb, marks=pytest.mark.slow) if verb in LONGER else verb for verb in VERBS])
def test_a_regression_goes_through_the_verb_and_its_page_can_be_read(verb: str, tmp_path: Path) -> None:
    result = VERBS[verb]()
    assert result.outcome in ("pass", "violation", "inconclusive")
    assert not [check for check in result.as_dict()["checks"] if check["outcome"] == "failed"]
    assert "nan" not in result.summary().lower().split()
    assert "<html" in result.report(tmp_path / "page.html").read_text()[:400].lower()


@pytest.mark.parametrize("oracle", ORACLES)
def test_a_tolerance_in_the_unit_or_as_a_share_decides(oracle: str) -> None:
    result = eh.scan(MODEL, DATA, budget=BUDGET, oracle=oracle, options=SMALL)
    assert result.outcome == "violation"
    alone = np.mean((60 / rent(FLATS.assign(gender="m")) > 0.05) if "share" in oracle else np.ones(COUNT))
    assert result.rate is not None
    assert result.rate.interval.low - 0.02 <= alone <= result.rate.interval.high + 0.02


def test_a_callable_that_says_amounts_cannot_be_certified_and_the_message_says_what_can() -> None:
    with pytest.raises(MissingAbility, match=r"no callables.*`measure`"):
        eh.certify(MODEL, DATA)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda frame: -rent(frame), "high amounts are said of low ones"),
        (lambda frame: rent(frame) / 1000, "unit or scale"),
        (lambda frame: (frame["rooms"] * 7919) % 13, "not shown to be better than guessing"),
        (lambda frame: np.full(len(frame), 900.0), "is it constant"),
    ],
)
def test_a_regression_that_is_wired_wrongly_cannot_pass(wrong: Callable[[pd.DataFrame], Any], words: str) -> None:
    looked = eh.doctor(eh.wrap(wrong, DATA), DATA)
    assert words in looked.summary()
    assert looked.outcome == "inconclusive"


@pytest.mark.parametrize(
    "declared", [{"returns": "probability"}, {"threshold": 5.0}, {"threshold": "best 10%"}, {"classes": ["low", "high"]}]
)
def test_what_only_classes_have_is_refused_for_an_amount(declared: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"is for a label with classes, but the label 'Miete' is an amount; leave it out"):
        eh.wrap(rent, DATA, **declared)


def test_a_family_of_classifiers_is_not_trained_on_amounts() -> None:
    with pytest.raises(InvalidArgument, match="family of classifiers, and the label 'Miete' is an amount: name a model's file"):
        open_model("mlp", DATA, trusted=False)


def test_one_of_several_amounts_is_named_and_the_error_shows_how_each_agrees() -> None:
    both = lambda frame: np.stack([frame["rooms"] * 1.0, rent(frame)], axis=1)  # noqa: E731
    with pytest.raises(UnclearAnswers, match=r"1: .* correlation with the label 1\.00") as caught:
        eh.wrap(both, DATA)
    assert ("output: 1") in caught.value.choices[1]
    assert np.allclose(eh.wrap(both, DATA, output=1).scores(DATA.rows)[:, 0], rent(FLATS))
    with pytest.raises(InvalidArgument, match="from 0 to 1"):
        eh.wrap(both, DATA, output=2)


def test_one_of_several_labels_is_named() -> None:
    from sklearn.tree import DecisionTreeClassifier

    labels = pd.DataFrame({"large": np.where(FLATS["Größe m²"] > 100, "yes", "no"), "south": FLATS["Lage; Ort"] == "Süd"})
    data = eh.open(FLATS.drop(columns="Miete").assign(large=labels["large"]), label="large", favourable="yes", protected=["gender"])
    model = DecisionTreeClassifier(max_depth=3).fit(data.rows, labels.astype(str))
    with pytest.raises(UnclearAnswers, match=r"predicts 2 labels at once.*0: \['no', 'yes'\]"):
        eh.wrap(model, data, takes="codes")
    said = eh.wrap(model, data, takes="codes", output=0).scores(data.rows)
    assert (said.argmax(axis=1) == (labels["large"] == "yes")).all()


def test_the_best_of_a_ranking_and_the_amounts_of_a_share() -> None:
    data = eh.open(
        FLATS.drop(columns="Miete").assign(dear=np.where(FLATS["Miete"] > 1000, "yes", "no")),
        label="dear", favourable="yes", protected=["gender"],
    )  # fmt: skip
    model = eh.wrap(rent, data, threshold="best 40")
    chosen = model.scores(data.rows).argmax(axis=1) == model.classes.index("yes")
    assert 38 <= chosen.sum() <= 44
    assert rent(FLATS)[chosen].min() >= rent(FLATS)[~chosen].max()


def test_an_abstention_is_a_label_of_its_own() -> None:
    frame = FLATS.drop(columns="Miete").assign(let=np.where(FLATS["Miete"] > 1000, "yes", "no"))
    says = lambda frame: np.where(frame["rooms"] > 4, "ask", np.where(rent(frame) > 1000, "yes", "no"))  # noqa: E731
    plain = eh.open(frame, label="let", favourable="yes", protected=["gender"])
    with pytest.raises(WrongAnswer, match="abstention="):
        eh.wrap(says, plain)
    data = eh.open(frame, label="let", favourable="yes", protected=["gender"], abstention="ask")
    result = eh.scan(eh.wrap(says, data), data, budget=BUDGET, options=SMALL)
    assert set(data.domain.label.values) == {"yes", "no", "ask"}
    assert result.outcome == "violation"
    (told,) = (line for line in eh.doctor(eh.wrap(says, data), data).summary().splitlines() if "accuracy" in line)
    assert re.search(r"it says 'ask' of 3\d\.\d% of them, which none of them is; of the others 9\d\.\d% are right", told)


def test_a_regression_in_an_onnx_file_says_amounts(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    weights = np.array([[9.0], [0.0], [20.0], [0.0]], dtype=np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "rent",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(tmp_path / "rent.onnx"))
    model = eh.wrap(tmp_path / "rent.onnx", DATA)
    assert np.allclose(model.scores(DATA.rows)[:, 0], (DATA.rows @ weights)[:, 0])
    assert eh.scan(model, DATA, budget=BUDGET, oracle="amounts:tolerance=15", options=SMALL).outcome == "violation"


def _rent_module() -> Any:
    torch = pytest.importorskip("torch")

    class Rent(torch.nn.Module):
        """9 for each square metre, 60 more for one gender."""

        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 1)
            codes = torch.zeros(1, 4)
            codes[0, 0], codes[0, 2], codes[0, 3] = 9.0, 60.0, 1.0
            self.linear.weight.data, self.linear.bias.data = codes, torch.zeros(1)

        def forward(self, codes: Any) -> Any:
            return self.linear(codes)

    return Rent().eval()


WANTED = DATA.rows @ np.array([9.0, 0.0, 60.0, 1.0])


def _as_given(module: Any, tmp_path: Path) -> Any:
    return module


def _as_program(module: Any, tmp_path: Path) -> Any:
    import torch

    rows = torch.zeros(8, 4)
    program = torch.export.export(module, (rows,), dynamic_shapes=({0: torch.export.Dim("rows", min=1)},))
    torch.export.save(program, tmp_path / "rent.pt2")
    return tmp_path / "rent.pt2"


def _as_graph(module: Any, tmp_path: Path) -> Any:
    import torch

    pytest.importorskip("onnxruntime")
    torch.onnx.export(
        module, (torch.zeros(8, 4),), str(tmp_path / "rent.onnx"), dynamo=False, input_names=["x"], output_names=["y"],
        dynamic_axes={"x": {0: "rows"}, "y": {0: "rows"}},
    )  # fmt: skip
    return tmp_path / "rent.onnx"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", [_as_given, pytest.param(_as_program, marks=pytest.mark.slow), _as_graph])
def test_a_torch_regression_says_amounts(given: Any, tmp_path: Path) -> None:
    model = eh.wrap(given(_rent_module(), tmp_path), DATA, returns="amount", trusted=True)
    assert np.allclose(model.scores(DATA.rows)[:, 0], WANTED, rtol=1e-5)
    assert eh.scan(model, DATA, budget=BUDGET, oracle="amounts:tolerance=20", options=SMALL).outcome == "violation"


@pytest.mark.slow
def test_a_torch_regression_goes_through_every_verb(tmp_path: Path) -> None:
    model = eh.wrap(_rent_module(), DATA)
    found = eh.scan(model, DATA, budget=BUDGET, oracle=ORACLES[0], options=SMALL)
    results = [
        eh.doctor(model, DATA),
        found,
        eh.measure(model, DATA, oracle=ORACLES[0], options=eh.MeasureOptions(rate_rows=300, null_draws=0)),
        eh.bench(["themis", "evenhand"], [Given(Arena(DATA, ("gender",), model, "rent"))], budget=BUDGET),
        eh.compare(model, model, DATA),
        eh.replay(found.witnesses[0], model, DATA),
    ]
    for place, result in enumerate(results):
        assert result.outcome in ("pass", "violation", "inconclusive")
        assert "<html" in result.report(tmp_path / f"page-{place}.html").read_text()[:400].lower()


def test_a_torch_regression_that_is_unsteady_or_broken_says_so() -> None:
    torch = pytest.importorskip("torch")

    class Noisy(torch.nn.Module):
        def forward(self, codes: Any) -> Any:
            return codes.sum(dim=1) + torch.rand(len(codes))

    class Narrow(torch.nn.Module):
        def forward(self, codes: Any) -> Any:
            return codes @ torch.ones(3)

    class Centred(torch.nn.Module):
        def forward(self, codes: Any) -> Any:
            return codes.sum(dim=1) - codes.sum(dim=1).mean()

    with pytest.raises(UnsteadyModel, match="second time"):
        eh.wrap(Noisy(), DATA)
    with pytest.raises(UnsteadyModel, match="in company"):
        eh.wrap(Centred(), DATA)
    with pytest.raises(ModelFailed, match="TorchSettings"):
        eh.wrap(Narrow(), DATA)
