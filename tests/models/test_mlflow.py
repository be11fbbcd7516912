"""Folders that MLflow itself wrote."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand.errors import UntrustedModel

FRAME = pd.DataFrame({"age": [25, 41, 63, 37] * 20, "sex": [0, 1, 1, 0] * 20})
LABELS = ["no", "yes", "yes", "no"] * 20
DOMAIN = eh.infer(FRAME.assign(paid=LABELS), label="paid", favourable="yes", protected=["sex"])


@pytest.fixture
def mlflow():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield pytest.importorskip("mlflow", reason="mlflow is not installed (extra: mlflow)")


@pytest.mark.parametrize(("form", "needs_trust"), [("skops", False), ("cloudpickle", True)])
def test_an_estimator_that_mlflow_saved(mlflow, tmp_path, form, needs_trust):
    import mlflow.sklearn

    model = LogisticRegression().fit(FRAME, LABELS)
    try:
        mlflow.sklearn.save_model(model, str(tmp_path / "model"), serialization_format=form, pip_requirements=["scikit-learn"])
    except mlflow.exceptions.MlflowException:
        pytest.skip(f"this MLflow does not write {form}")
    if needs_trust:
        with pytest.raises(UntrustedModel, match="trusted"):
            eh.wrap(tmp_path / "model", DOMAIN)
    wrapped = eh.wrap(tmp_path / "model", DOMAIN, trusted=needs_trust)
    np.testing.assert_allclose(wrapped.scores(DOMAIN.encode(FRAME)), model.predict_proba(FRAME))
    assert wrapped.classes == ("no", "yes")


def test_a_python_function_that_mlflow_saved_needs_trust(mlflow, tmp_path):
    import mlflow.pyfunc

    class Rule(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            return (model_input["age"] > 30).astype(int) * 0.9

    mlflow.pyfunc.save_model(str(tmp_path / "model"), python_model=Rule(), pip_requirements=["pandas"])
    with pytest.raises(UntrustedModel, match="trusted"):
        eh.wrap(tmp_path / "model", DOMAIN)
    wrapped = eh.wrap(tmp_path / "model", DOMAIN, trusted=True)
    np.testing.assert_allclose(wrapped.scores(DOMAIN.encode(FRAME))[:, 1], (FRAME["age"] > 30) * 0.9, atol=1e-6)
