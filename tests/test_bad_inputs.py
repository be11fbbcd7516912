"""What people get wrong, and the message they get: which argument, what was expected, what came, how to cure it."""

import http.server
import json
import pickle
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.campaign.bench_records import Arena, Bout, bench
from evenhand.checks import standard_subject
from evenhand.cli.project import load_all
from evenhand.datasets.dataset import from_frame
from evenhand.domain import project_file
from evenhand.domain.frames import read_table
from evenhand.engine import witness
from evenhand.engine.run import Plan, run
from evenhand.engine.store import RunFolder
from evenhand.errors import (
    ConstraintError,
    DataError,
    DomainError,
    EvenhandError,
    InvalidArgument,
    MissingAbility,
    MissingExtra,
    ModelFailed,
    StoreError,
    UnknownName,
    UnsteadyModel,
    UntrustedModel,
    WrongAnswer,
)
from evenhand.methods import METHODS
from evenhand.methods.themis import Themis
from evenhand.models.http import HttpModel
from evenhand.models.meter import Meter
from evenhand.oracles import oracle_of
from evenhand.report import load as load_result

SUBJECT = standard_subject()
FRAME = pd.DataFrame(
    {
        "age": [25, 41, 63, 37, 52, 29] * 5,
        "sex": ["f", "m", "m", "f", "m", "f"] * 5,
        "job": ["clerk", "nurse", "clerk", "cook", "nurse", "cook"] * 5,
        "paid": ["yes", "no", "yes", "no", "yes", "yes"] * 5,
    }
)
YAML = """version: 1
label: {column: paid, values: ["no", "yes"], favourable: ["yes"]}
protected: [sex]
columns:
  age: {kind: integer, low: 18, high: 70}
  sex: {kind: category, values: [f, m]}
  job: {kind: category, values: [clerk, cook, nurse]}
"""


def domain():
    return eh.infer(FRAME, label="paid", favourable="yes", protected=["sex"])


def data():
    return from_frame(FRAME, domain())


def yaml(tmp_path, old="", new="", more=""):
    path = tmp_path / "evenhand.yaml"
    assert old in YAML
    path.write_text(YAML.replace(old, new) + more)
    return path


def scanned(answer, **options):
    return eh.scan(eh.wrap(answer, domain(), **options), data(), budget=eh.Budget(candidates=50))


@contextmanager
def endpoint(answer):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, kind, text = answer(body)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/predict"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def asked(answer, **settings):
    with endpoint(answer) as url:
        model = eh.wrap(HttpModel(url, retries=0, timeout_seconds=settings.pop("timeout_seconds", 5.0), **settings), domain())
        Meter(model).scores(domain().encode(FRAME))


def slow(body):
    time.sleep(0.6)
    return 200, "application/json", "{}"


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def constant(rows):
    return np.tile([0.4, 0.6], (len(rows), 1))


def unsteady(rows, rng=np.random.default_rng(1)):
    return rng.random(len(rows))


def another_models_folder(tmp_path):
    folder = RunFolder.for_header(tmp_path, {"method": "themis", "model": "one"})
    RunFolder.at(folder.path, {"method": "themis", "model": "two"})


def full_disk(tmp_path, monkeypatch):
    import pyarrow.parquet as parquet

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", full)
    run(Themis(), SUBJECT, Plan(0, eh.Budget(candidates=100)), RunFolder.for_header(tmp_path, {"method": "themis"}))


def pickled(tmp_path):
    path = write(tmp_path, "model.pkl", pickle.dumps({"any": "thing"}))
    eh.wrap(path, domain())


BAD = {
    # tables
    "a table that is not there": (lambda t, m: read_table(t / "no.csv"), DataError, "no.csv; check the path"),
    "an empty table": (lambda t, m: read_table(write(t, "a.csv", "")), DataError, "empty"),
    "the wrong delimiter": (lambda t, m: read_table(write(t, "a.csv", "a|b\n1|2\n"), delimiter=","), DataError, "delimiter"),
    "a ragged line": (lambda t, m: read_table(write(t, "a.csv", "a,b\n1,2\n3\n")), DataError, "line 3"),
    "a header with the same name twice": (lambda t, m: read_table(write(t, "a.csv", "a,a\n1,2\n")), DataError, "twice"),
    "a table in another encoding": (lambda t, m: read_table(write(t, "a.csv", "näme\n1\n".encode("latin-1"))), DataError, "encoding"),
    "a Parquet file that is none": (lambda t, m: read_table(write(t, "a.parquet", "no")), DataError, "Parquet"),
    "something that is no table": (
        lambda t, m: domain().encode([[1, 2]]),
        DataError,
        "expected a pandas or polars table, got builtins.list",
    ),
    "a missing column": (lambda t, m: domain().encode(FRAME.drop(columns="job")), DataError, "the table lacks the column ['job']"),
    "an unknown category": (
        lambda t, m: domain().encode(FRAME.replace({"job": {"cook": "chef"}})),
        DataError,
        "column 'job', row 3: 'chef' is not one of",
    ),
    "text in a number column": (
        lambda t, m: domain().encode(FRAME.assign(age="old")),
        DataError,
        "column 'age', row 0: 'old' is not a number",
    ),
    "a missing cell where none may be": (lambda t, m: domain().encode(FRAME.assign(sex=None)), DataError, "allows no missing cells"),
    "no rows inside the domain": (
        lambda t, m: eh.scan(SUBJECT.model, from_frame(FRAME.assign(age=5), project_file.load(yaml(t))), budget=eh.Budget(candidates=5)),
        DataError,
        "no row lies inside the domain",
    ),
    # domains
    "a label that is not in the data": (lambda t, m: eh.infer(FRAME, label="salary"), EvenhandError, "'salary'"),
    "a label with one value": (lambda t, m: eh.infer(FRAME.assign(paid="yes"), label="paid"), EvenhandError, "two"),
    "a favourable value that never occurs": (
        lambda t, m: eh.infer(FRAME, label="paid", favourable="maybe"),
        DomainError,
        "'maybe' is not one of",
    ),
    "a protected column that is constant": (
        lambda t, m: eh.infer(FRAME.assign(sex="f"), label="paid", protected=["sex"]),
        DomainError,
        "'sex' has a single value in the data: there is nobody to compare with",
    ),
    "a protected column that is not there": (lambda t, m: domain().protect("gender"), UnknownName, "unknown protected column 'gender'"),
    "nothing protected": (
        lambda t, m: eh.scan(SUBJECT.model, from_frame(FRAME, domain().protect()), budget=eh.Budget(candidates=5)),
        InvalidArgument,
        "name at least one protected column",
    ),
    "a protected real number without bins": (
        lambda t, m: eh.TabularDomain((eh.Column("income", "real", low=0.0, high=9.5),), ("income",)),
        DomainError,
        "declare compared values or bins",
    ),
    # project files
    "a project file that is not there": (
        lambda t, m: project_file.load(t / "evenhand.yaml"),
        DomainError,
        "`evenhand init data.csv` writes one",
    ),
    "YAML that does not parse": (lambda t, m: project_file.load(yaml(t, "[sex]", "[sex")), DomainError, "evenhand.yaml:"),
    "an unknown key": (
        lambda t, m: project_file.load(yaml(t, "protected:", "protectd:")),
        DomainError,
        "evenhand.yaml:3: unknown key 'protectd'; did you mean 'protected'?",
    ),
    "an unknown kind": (lambda t, m: project_file.load(yaml(t, "kind: integer", "kind: int")), DomainError, "evenhand.yaml:5: "),
    "a range upside down": (
        lambda t, m: project_file.load(yaml(t, "low: 18, high: 70", "low: 70, high: 18")),
        DomainError,
        "evenhand.yaml:5: column 'age': low=70 is above high=18",
    ),
    "an unknown protected column": (
        lambda t, m: project_file.load(yaml(t, "[sex]", "[sx]")),
        DomainError,
        "evenhand.yaml:3: unknown protected column 'sx'; did you mean 'sex'?",
    ),
    "a constraint with a typing error": (
        lambda t, m: project_file.load(yaml(t, more="constraints:\n  - aeg >= 18\n")),
        ConstraintError,
        "did you mean 'age'?",
    ),
    "a constraint with an unknown value": (
        lambda t, m: project_file.load(yaml(t, more='constraints:\n  - job == "chef"\n')),
        ConstraintError,
        "evenhand.yaml:9: column 'job' has no value \"chef\"; known: ['clerk', 'cook', 'nurse']",
    ),
    "contradictory constraints": (
        lambda t, m: project_file.load(yaml(t, more="constraints:\n  - age >= 60\n  - age <= 30\n")),
        ConstraintError,
        "no row keeps these constraints together: age >= 60  |  age <= 30; loosen one of them",
    ),
    "a project without data": (lambda t, m: load_all(yaml(t)), DomainError, "names no data"),
    # models
    "a model file that is not there": (lambda t, m: eh.wrap(t / "model.skops", domain()), EvenhandError, "model.skops"),
    "a pickle without trust": (lambda t, m: pickled(t), UntrustedModel, "trusted"),
    "a model that returns strings nobody declared": (
        lambda t, m: scanned(lambda frame: ["perhaps"] * len(frame), takes="frame"),
        WrongAnswer,
        "'perhaps'",
    ),
    "a model that returns too few answers": (lambda t, m: scanned(lambda frame: [0.5], takes="frame"), WrongAnswer, "1"),
    "a model that returns NaN": (lambda t, m: scanned(lambda rows: np.full((len(rows), 2), np.nan), takes="codes"), WrongAnswer, "finite"),
    "a model that raises": (lambda t, m: scanned(lambda frame: frame["salary"], takes="frame"), ModelFailed, "raised KeyError: 'salary'"),
    "a model that changes its mind": (
        lambda t, m: scanned(unsteady, takes="codes", returns="favourable"),
        UnsteadyModel,
        "asked again, it changed its label for",
    ),
    "a method that needs gradients on a black box": (
        lambda t, m: run(
            METHODS.make("adf"),
            SUBJECT.__class__(domain(), eh.wrap(constant, domain(), takes="codes"), domain().encode(FRAME)),
            Plan(0, eh.Budget(candidates=9)),
        ),
        MissingAbility,
        "adf needs a differentiable model",
    ),
    # endpoints
    "an endpoint that is down": (
        lambda t, m: Meter(eh.wrap(HttpModel("http://127.0.0.1:9/x", retries=0, timeout_seconds=2), domain())).scores(
            domain().encode(FRAME)
        ),
        ModelFailed,
        "127.0.0.1:9",
    ),
    "an endpoint that is slow": (lambda t, m: asked(slow, timeout_seconds=0.2), ModelFailed, "0.2"),
    "an endpoint that answers HTML": (lambda t, m: asked(lambda b: (200, "text/html", "<html>login</html>")), EvenhandError, "HTML"),
    "an endpoint that answers 403": (lambda t, m: asked(lambda b: (403, "application/json", '{"why": "no key"}')), ModelFailed, "403"),
    "an endpoint that answers too few": (
        lambda t, m: asked(lambda b: (200, "application/json", '{"predictions": [0.5]}')),
        EvenhandError,
        "1",
    ),
    "an endpoint whose answer lacks the path": (
        lambda t, m: asked(lambda b: (200, "application/json", '{"scores": []}')),
        EvenhandError,
        "predictions",
    ),
    # searching
    "an unknown method": (lambda t, m: METHODS.make("temis"), UnknownName, "unknown method 'temis'; did you mean 'themis'?"),
    "an unknown parameter": (
        lambda t, m: METHODS.make("themis", {"marging": 1}),
        UnknownName,
        "unknown parameter of themis 'marging'; did you mean 'margin'?",
    ),
    "a parameter of the wrong kind": (
        lambda t, m: METHODS.make("themis", {"batch": "many"}),
        InvalidArgument,
        "batch='many' must be of the kind of its default",
    ),
    "a parameter out of range": (
        lambda t, m: METHODS.make("themis", {"confidence": 1.0}),
        InvalidArgument,
        "confidence=1.0 must lie strictly between 0 and 1",
    ),
    "an unknown oracle": (lambda t, m: oracle_of("flop"), UnknownName, "did you mean 'flip'?"),
    "a budget of nothing": (lambda t, m: eh.Budget(), InvalidArgument, "needs at least one of candidates, model_rows, seconds"),
    "a negative budget": (lambda t, m: eh.Budget(candidates=-5), InvalidArgument, "candidates=-5 must be a whole number of at least 1"),
    "an unknown data set": (lambda t, m: eh.datasets.load("adlut"), UnknownName, "did you mean 'adult'?"),
    "a bench of an unknown method": (
        lambda t, m: bench(["nope"], Arena(data(), ("sex",), SUBJECT.model, "x"), Bout(eh.Budget(candidates=5))),
        UnknownName,
        "unknown method 'nope'",
    ),
    # stores
    "a run folder of another model": (lambda t, m: another_models_folder(t), StoreError, "holds a run with another model (one, now two)"),
    "a full disk": (full_disk, StoreError, "No space left on device; what was saved before is intact"),
    "a folder without a run": (lambda t, m: RunFolder.open(t), StoreError, "it has no header.json"),
    "a witness that is not there": (lambda t, m: witness.find("abcdef0123", [t]), StoreError, "no witness 'abcdef0123'"),
    "a witness id that is none": (
        lambda t, m: witness.find("zebra", [t]),
        InvalidArgument,
        "neither a file, nor a folder, nor a witness id",
    ),
    "a witness file that is none": (lambda t, m: witness.load(write(t, "a.json", "[]")), StoreError, "is not a witness file"),
    "a result that is none": (lambda t, m: load_result(write(t, "r.json", "{}")), EvenhandError, "r.json"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_mistake_gets_a_message_that_helps(mistake, tmp_path, monkeypatch):
    action, fault, words = BAD[mistake]
    with pytest.raises(fault) as caught:
        action(tmp_path, monkeypatch)
    assert words in str(caught.value)


def test_the_table_is_long_enough():
    assert len(BAD) >= 40


def test_a_missing_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    from evenhand.errors import require

    with pytest.raises(MissingExtra, match=r"pip install 'evenhand\[onnx\]'"):
        require("onnxruntime", "onnx")


@pytest.mark.parametrize("name", ["nowhere.csv", "nowhere.parquet", "nowhere"])
def test_init_names_a_table_that_is_not_there(tmp_path, name):
    from evenhand.verbs.init import init

    with pytest.raises(EvenhandError, match=rf"{name}"):
        init(tmp_path / name, file=tmp_path / "evenhand.yaml")
