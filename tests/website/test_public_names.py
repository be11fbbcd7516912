"""Every public name has an example, and the examples run."""

import doctest
import inspect

import pytest

import evenhand as eh

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", eh.__all__)
def test_the_example_runs(name, tmp_path, monkeypatch):
    thing = getattr(eh, name)
    text = inspect.getdoc(thing) or ""
    assert ">>>" in text, f"evenhand.{name} has no example"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/mlruns")
    home = inspect.getmodule(thing)
    example = doctest.DocTestParser().get_doctest(text, dict(vars(home)), name, None, 0)
    outcome = doctest.DocTestRunner().run(example)
    assert outcome.failed == 0
