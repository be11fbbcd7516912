"""MLflow: an evaluator that `mlflow.models.evaluate` finds by its entry point, and results logged to a run."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.contract import Result
from evenhand.errors import InvalidArgument, require

NAME = "evenhand"


class FairnessEvaluator:
    """Judges a model on the data and by the policy of a project file, and logs rates, group gaps and the page to the run.

    `mlflow.models.evaluate(..., evaluators=["evenhand"], evaluator_config={"evenhand": {"project": "evenhand.yaml", "candidates": 5000}})`.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Mapping[str, Any] | None = None, **_: Any) -> bool:
        """Whether it can do this: classifiers and regressors, with a project file."""
        return model_type in ("classifier", "regressor") and "project" in (evaluator_config or {})

    def evaluate(self, *, run_id: str, model: Any = None, evaluator_config: Mapping[str, Any] | None = None, **_: Any) -> Any:
        """Judge the evaluated model, or without one the project's, and log; returns what `mlflow.evaluate` merges into its result."""
        require("mlflow", "mlflow")
        from mlflow.models.evaluation import EvaluationResult

        from evenhand.integrations.fairness_assertion import project_gate

        config = dict(evaluator_config or {})
        if "project" not in config:
            raise InvalidArgument('evaluator_config: name the project file, as {"project": "evenhand.yaml"}')
        asked = None if model is None else _about_frames(model)
        result = project_gate(config["project"], model=asked, candidates=int(config.get("candidates", 5_000)))
        told: Any = EvaluationResult
        return told(metrics=log_result(result, run_id), artifacts={})


def _about_frames(model: Any) -> Any:
    """What MLflow evaluates is asked through `predict` with a frame, whatever lies behind it; a function is asked itself."""
    return getattr(model, "predict", model)


def log_result(result: Result, run_id: str | None = None) -> dict[str, float]:
    """Log a result of any verb to a run of MLflow: figures, the verdict as a tag, the page and the JSON; returns the figures.

    run_id: the run; None takes the active one, or starts one.

    >>> import mlflow
    >>> import evenhand as eh
    >>> data = eh.open("credit", protected=["age"])
    >>> model = eh.wrap(lambda frame: 50 + frame["age"] - frame["duration"], data, returns="score", threshold=60)
    >>> result = eh.scan(model, data, budget=eh.Budget(candidates=500))
    >>> with mlflow.start_run():
    ...     logged = eh.log_result(result)
    >>> len(logged) > 0
    True
    """
    require("mlflow", "mlflow")
    import mlflow
    from mlflow.tracking import MlflowClient

    client = MlflowClient()
    run = run_id or (mlflow.active_run() or mlflow.start_run()).info.run_id
    figures = figures_of(result.as_dict())
    for name, value in figures.items():
        client.log_metric(run, name, value)
    client.set_tag(run, f"{NAME}.outcome", result.outcome)
    client.set_tag(run, f"{NAME}.reason", result.reason[:4_000])
    with tempfile.TemporaryDirectory() as folder:
        for name in ("report.html", "result.json"):
            client.log_artifact(run, str(result.report(Path(folder) / name)), NAME)
    return figures


def figures_of(content: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a result under names that MLflow takes: rates and group gaps with their bounds.

    >>> rate = {"population": "data", "estimate": 0.1, "low": 0.05, "high": 0.2}
    >>> figures_of({"body": {"rates": [rate]}, "witnesses": []})["evenhand/rate_data"]
    0.1
    """
    body = content["body"]
    found: dict[str, float] = {}
    for rate in body.get("rates") or ():
        found |= _bounded(f"rate_{rate.get('name') or rate['population']}", rate)
    for figure in body.get("groups") or ():
        found |= _bounded(f"{figure['metric']}_by_{figure['attribute']}", figure)
    return found | {f"{NAME}/witnesses": float(len(content["witnesses"]))}


def _bounded(name: str, told: Mapping[str, Any]) -> dict[str, float]:
    plain = "".join(each if each.isalnum() or each in "_-. " else "_" for each in name)[:200]
    named = {"": told.get("estimate"), "_low": told.get("low"), "_high": told.get("high")}
    return {f"{NAME}/{plain}{ending}": float(value) for ending, value in named.items() if value is not None}
