"""The policy, the scorer of scikit-learn and the runs of MLflow, each as its user meets it."""

from __future__ import annotations

import json
import threading
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.datasets.dataset import Dataset
from evenhand.engine.baseline import Baseline
from evenhand.errors import DataError, InvalidArgument
from evenhand.integrations.fairness_assertion import NotFair, assert_fair
from evenhand.integrations.mlflow_evaluator import figures_of
from evenhand.integrations.sklearn_scorer import fairness_scorer
from evenhand.planted import shapes
from evenhand.report import render
from evenhand.verbs.init import init

PLANTED = shapes()["wide_band"]
QUICK = eh.GateOptions(budget=eh.Budget(candidates=300), rate_rows=1_500)


@pytest.fixture(scope="module")
def people() -> Dataset:
    rows = PLANTED.domain.sample(1_500, np.random.default_rng(0))
    frame = PLANTED.domain.decode(rows)
    label = PLANTED.domain.label
    frame[label.column] = np.array(label.values)[PLANTED.model.scores(rows).argmax(axis=1)]
    return Dataset("planted", frame, PLANTED.domain)


def condition(result, name: str):
    return next(each for each in result.ruling.held if each.name == name)


def test_a_policy_has_three_states_for_rates_groups_and_the_worst_case(people: Dataset) -> None:
    share = eh.gate(PLANTED.model, people, options=QUICK).content["body"]["rates"][0]["estimate"]
    policy = eh.Policy(
        eh.Gate(max_rate=min(0.99, share + 0.1)),
        (eh.GroupLimit("statistical_parity", most=0.0001), eh.GroupLimit("disparate_impact", least=0.01)),
        worst_gap=0.05,
    )
    result = eh.gate(PLANTED.model, people, policy, options=QUICK)
    assert condition(result, "rate").outcome == "pass"
    assert condition(result, "worst case").outcome == "violation"
    assert condition(result, "disparate_impact by group").outcome == "pass"
    assert result.outcome == "violation"
    assert "engineering tolerances" in render(result.as_dict())
    missing = eh.Policy(groups=(eh.GroupLimit("statistical_parity", most=0.1, by="no such column"),))
    assert missing.judge([eh.scan(PLANTED.model, people, methods=["themis"], budget=eh.Budget(candidates=50)).as_dict()]).held[
        -1
    ].outcome == ("inconclusive")


def test_a_baseline_knows_what_was_so_and_tells_new_rows(people: Dataset) -> None:
    first = eh.gate(PLANTED.model, people, options=QUICK).as_dict()
    again = eh.gate(PLANTED.model, people, options=eh.GateOptions(budget=QUICK.budget, baseline=first, rate_rows=1_500))
    assert again.outcome == "pass"
    assert condition(again, "rate").standing == "known"
    fewer = {**first, "header": {**first["header"], "model": {"kind": "other", "digest": "other"}}}
    fewer["body"] = {**first["body"], "unfair_rows": first["body"]["unfair_rows"][1:]}
    stricter = eh.gate(PLANTED.model, people, options=eh.GateOptions(budget=QUICK.budget, baseline=fewer, rate_rows=1_500))
    assert stricter.outcome == "violation"  # one real row is new, and none is tolerated
    assert "unfair real rows that were not before: 1" in condition(stricter, "rate").message
    tolerant = eh.Policy(eh.Gate(max_rate=0.001))
    known = eh.gate(PLANTED.model, people, tolerant, options=eh.GateOptions(budget=QUICK.budget, baseline=fewer, rate_rows=1_500))
    assert known.outcome == "pass"  # by the interval, one row of 1,500 is not worse
    other = {**first, "header": {**first["header"], "domain": {**first["header"]["domain"], "protected": ["else"]}}}
    with pytest.raises(DataError, match="other protected columns"):
        Baseline(other, first)


def test_a_waiver_says_what_who_why_and_until_when(people: Dataset) -> None:
    waiver = eh.Waiver("rate", "ada", "retraining", date(2030, 1, 31))
    policy, day = eh.Policy(waivers=(waiver,)), eh.GateOptions(budget=QUICK.budget, rate_rows=1_500, today=date(2030, 1, 31))
    assert eh.gate(PLANTED.model, people, policy, options=day).outcome == "pass"
    late = eh.GateOptions(budget=QUICK.budget, rate_rows=1_500, today=date(2030, 2, 1))
    result = eh.gate(PLANTED.model, people, policy, options=late)
    assert (result.outcome, condition(result, "rate").standing) == ("violation", "waiver expired")
    with pytest.raises(InvalidArgument, match="owner=''"):
        eh.Waiver("rate", "", "retraining", date(2030, 1, 31))


def test_an_assertion_fails_with_the_pairs(people: Dataset) -> None:
    with pytest.raises(NotFair, match="evenhand replay") as caught:
        assert_fair(PLANTED.model, people, candidates=300)
    assert caught.value.result.outcome == "violation"
    with pytest.raises(InvalidArgument, match="needs data"):
        assert_fair(PLANTED.model)


def test_a_scorer_ranks_a_fair_model_above_an_unfair_one() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], 300), "income": rng.integers(0, 100, 300)})
    domain = eh.TabularDomain((eh.Column("group", "category", ("a", "b")), eh.Column("income", "integer", low=0, high=99)), ("group",))
    labels = (frame.income + 30 * (frame.group == "b") > 60).astype(int)
    sees = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["group"]), remainder="passthrough"), DecisionTreeClassifier(max_depth=4)
    )
    blind = make_pipeline(make_column_transformer(("drop", ["group"]), remainder="passthrough"), DecisionTreeClassifier(max_depth=4))
    seen, unseen = (cross_val_score(model, frame, labels, scoring=fairness_scorer(domain), cv=3).mean() for model in (sees, blind))
    assert unseen == 1.0
    assert seen < 0.9
    mixed = cross_val_score(blind, frame, labels, scoring=fairness_scorer(domain, accuracy=1.0), cv=3)
    assert mixed.mean() == pytest.approx(cross_val_score(blind, frame, labels, cv=3).mean(), abs=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_result_is_logged_to_a_run_of_mlflow(people: Dataset, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    from evenhand.integrations.mlflow_evaluator import FairnessEvaluator, log_result

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/mlruns")
    mlflow.set_tracking_uri(f"file://{tmp_path}/mlruns")
    monkeypatch.chdir(tmp_path)
    result = eh.gate(PLANTED.model, people, options=QUICK)
    with mlflow.start_run() as run:
        told = log_result(result)
    kept = mlflow.get_run(run.info.run_id).data
    assert kept.tags["evenhand.outcome"] == "violation"
    assert kept.metrics["evenhand/rate_data"] == told["evenhand/rate_data"] > 0
    assert FairnessEvaluator.can_evaluate(model_type="classifier", evaluator_config={"project": "evenhand.yaml"})
    assert not FairnessEvaluator.can_evaluate(model_type="classifier", evaluator_config={})


def test_figures_have_names_that_other_tools_take(people: Dataset) -> None:
    found = figures_of(
        eh.gate(PLANTED.model, people, eh.Policy(groups=(eh.GroupLimit("statistical_parity", most=0.9),)), options=QUICK).as_dict()
    )
    assert {"evenhand/rate_data", "evenhand/rate_data_low", "evenhand/statistical_parity_by_group"} <= set(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_mlflow_finds_the_evaluator_by_its_entry_point_and_judges_with_it(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    from parts.dashboard_store import write_project

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/mlruns")
    monkeypatch.chdir(tmp_path)
    project = write_project(tmp_path / "loans")
    told = {}
    for name, push in (("leaning", 8), ("blind", 0)):
        with mlflow.start_run() as run:
            made = mlflow.models.evaluate(
                lambda frame, push=push: np.where(frame["income"] + push * (frame["sex"] == "man") > 50, "granted", "refused"),
                pd.read_parquet(tmp_path / "loans" / "people.parquet"),
                targets="loan",
                model_type="classifier",
                evaluators="evenhand",
                evaluator_config={"project": str(project), "candidates": 300},
            )
        told[name] = mlflow.get_run(run.info.run_id).data.tags["evenhand.outcome"], made.metrics["evenhand/rate_data"]
    assert told["leaning"][0] == "violation"
    assert told["leaning"][1] > 0.05
    assert told["blind"] == ("inconclusive", 0.0)  # nothing found among 400 rows proves little


def test_named_classes_are_held_beside_a_tolerated_share_of_losses() -> None:
    checks = [
        {"name": "class sign", "outcome": "violation", "message": "worse"},
        {"name": "class car", "outcome": "pass", "message": "alike"},
    ]
    rate = {"estimate": 0.01, "low": 0.005, "high": 0.02, "n": 500, "confidence": 0.95, "population": "data", "unfair": 5}
    body = {"studies": {"classes": {"checks": checks}}, "rates": [rate], "runs": []}
    scenes = {"verb": "scan", "outcome": "violation", "reason": "worse", "checks": [], "body": body}
    every, both, car = (
        eh.Policy(gate=eh.Gate(max_rate=share), classes=names).judge([scenes])
        for share, names in ((0.0, ("all",)), (0.1, ("sign",)), (0.1, ("car",)))
    )
    assert [each.name for each in every.held] == ["class sign", "class car"]
    assert [(each.name, each.outcome) for each in both.held] == [("class sign", "violation"), ("rate", "pass")]
    assert both.outcome == "violation"
    assert car.outcome == "pass"


def test_a_project_is_asserted_about_with_its_own_endpoint_settings(people, tmp_path, monkeypatch):
    """The header that a service demands, the shape of its requests and of its answers are the project file's, as on the command line."""
    label, columns = PLANTED.domain.label, [column.name for column in PLANTED.domain.columns]

    class Scoring(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            is_known = self.headers.get("X-Key") == "a-secret"
            answer = json.dumps({"found": [{"says": label.values[0]} for _ in body["people"]]} if is_known else {}).encode()
            self.send_response(200 if is_known else 401)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Scoring)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    people.frame[[*columns, label.column]][:200].to_csv(tmp_path / "people.csv", index=False)
    address = f"http://127.0.0.1:{server.server_port}/"
    file = tmp_path / "evenhand.yaml"
    wishes = {"label": label.column, "favourable": label.favourable[0], "protected": PLANTED.domain.protected}
    init(tmp_path / "people.csv", **wishes, model=address, file=file)
    text = file.read_text()
    http = 'http: {request: {people: "$rows"}, answer: "found[*].says", headers: {X-Key: "${KEY_OF_A_TEST}"}}'
    file.write_text(text[: text.index("model:")] + f"model:\n  url: {address}\n  {http}\n")
    monkeypatch.setenv("KEY_OF_A_TEST", "a-secret")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFair, match="gives the same scores to all"):
        assert_fair(file, candidates=20)
    server.shutdown()
    serving.join()
    server.server_close()
