"""Project files: what they say, that they come back, and that every mistake is named with its line and its cure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand.domain.schema as schema
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.infer import InferWishes, propose
from evenhand.domain.project_file import load, read_project, save, save_project
from evenhand.domain.project_sections import DataSource, GateSettings, MethodChoice, ModelSource, Project, ScanSettings
from evenhand.domain.twins import Comparison, Implied
from evenhand.errors import ConstraintError, DomainError

GOOD = """version: 1
label: {column: income, values: ["<=50K", ">50K"], favourable: [">50K"]}
protected: [sex]
columns:
  age: {kind: integer, low: 17, high: 90}
  sex: {kind: category, values: [Male, Female]}
  relation: {kind: category, values: [Husband, Wife, yes], missing: 0.1, dtype: object}
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "evenhand.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


CLASSES = 'values: ["<=50K", ">50K"], favourable: [">50K"]'
CURE = "list its classes, or write unit: EUR (or another) if it is an amount"
MISTAKES = [
    (changed("Husband", '"\\ud800"'), 7, "'\\ud800' stands for no character; write the character itself"),
    (changed("Husband", '"\\UFFFFFFFF"'), 7, "'\\\\UFFFFFFFF' stands for no character; write the character itself"),
    (changed(f", {CLASSES}", ""), 2, f"the key 'values' is missing in 'label': {CURE}"),
    (changed(CLASSES, f"{CLASSES}, tolerance: 5"), 2, "label 'income': tolerance and share are for amounts; leave them out, or the values"),
    ("", 1, "the file is empty; expected keys such as columns, label, protected"),
    ("- a\n", 1, "the file must hold keys such as version, columns, label, protected"),
    (changed("version: 1\n", ""), 1, "the key 'version' is missing"),
    (changed("version: 1", "version: 2"), 1, "version must be 1, got 2"),
    ("version: 1\n", 1, "the key 'columns' is missing"),
    (
        changed("kind: integer", "kind: int"),
        5,
        (
            "columns.age.kind must be 'category', 'ordinal', 'integer', 'real', 'boolean', 'date' or 'datetime', got 'int'; "
            "did you mean 'integer'?"
        ),
    ),
    (changed("low: 17", "low: young"), 5, "column 'age': 'young' is not a number (kind: integer)"),
    (changed("low: 17", "lwo: 17"), 5, "unknown key 'columns.age.lwo'; did you mean 'low'?"),
    (changed("low: 17, high: 90", "low: 90, high: 17"), 5, "column 'age': low=90 is above high=17"),
    (changed("low: 17, ", ""), 5, "column 'age': a column of kind integer needs low and high"),
    (changed("low: 17", "low: 17.5"), 5, "column 'age': low=17.5 and high=90 of a column of kind integer must be whole numbers"),
    (
        changed("high: 90", "high: 99999999999999999999"),
        5,
        "column 'age': integers beyond 2**53 are not exact as numbers; use kind: ordinal and list the values",
    ),
    (changed("low: 17", "low: 17, missing: 2"), 5, "column 'age': missing=2.0 must be a share between 0 and 1"),
    (changed("[Male, Female]", "[Male, Male]"), 6, "column 'sex': value 'Male' is listed twice"),
    (changed("[Male, Female]", "[]"), 6, "column 'sex': a category column needs values"),
    (changed("[Male, Female]", "[Male, [x]]"), 6, "columns.sex.values.1 must be true or false or a number or text, got ['x']"),
    (changed("sex: {kind: category, values: [Male, Female]}", "sex:"), 6, "columns.sex must be a mapping, got None; write {key: value}"),
    (changed("  age:", "  1:"), 5, "columns.1: the key 1 must be text; put it in quotes"),
    (changed("[Male, Female]", "[Male]"), 3, "protected column 'sex' has a single value: there is nobody to compare with"),
    (changed("protected: [sex]", "protected: [sxe]"), 3, "unknown protected column 'sxe'; did you mean 'sex'?"),
    (changed("protected: [sex]", "protected: sex"), 3, "protected must be a list, got 'sex'; write [sex]"),
    (changed("protected: [sex]", "protected: [sex, sex]"), 3, "protected column 'sex' is named twice; remove one"),
    (changed("protected:", "protectd:"), 3, "unknown key 'protectd'; did you mean 'protected'?"),
    (GOOD + "trusted: true\n", GOOD.count("\n") + 1, "unknown key 'trusted'; it belongs to the model: {path: FILE, trusted: ...}"),
    (
        changed('values: ["<=50K", ">50K"]', 'values: [">50K"]'),
        2,
        "label.values must be at least 2 entries, got ['>50K']",
    ),
    (changed('favourable: [">50K"]', "favourable: [high]"), 2, "label 'income': favourable value 'high' is not one of ['<=50K', '>50K']"),
    (changed("column: income", "column: sex"), 2, "label 'sex' is declared as an input column too; remove it from columns"),
    (GOOD + "protected: [age]\n", 8, "the key 'protected' stands twice in one mapping; remove one"),
    (GOOD.replace("  age:", "\tage:"), 5, "a tab where YAML expects spaces; indent with spaces"),
    (GOOD + "x: {a: 1\n", 9, "not valid YAML: expected ',' or '}', but got '<stream end>' (while parsing a flow mapping)"),
    (GOOD + "a: b: c\n", 8, "not valid YAML: mapping values are not allowed here; put texts that contain ': ' in quotes"),
    (GOOD + "constraints: &a [x]\n", 8, "anchors and aliases (& and *) are not used here; write the value out"),
    (GOOD + "data: !!python/name:os.system x\n", 8, "the tag 'tag:yaml.org,2002:python/name:os.system' is not used here; remove it"),
    (GOOD + "---\na: 1\n", 8, "a second document begins here (---); a domain is one document"),
    (GOOD + "# \x00\n", 8, "character 0 is not allowed in YAML; remove it"),
    (GOOD.encode() + b"# \xff\n", 8, "the file is not UTF-8; save it as UTF-8"),
    (GOOD + "constraints:\n  - age >= 18\n  - agee > 3\n", 10, "unknown column 'agee'; did you mean 'age'?\n  agee > 3\n  ^"),
    (GOOD + "constraints:\n  - '`a b` > 3'\n", 9, "unknown column 'a b'; known: ['age', 'sex', 'relation']\n  `a b` > 3\n  ^"),
    (
        GOOD + "constraints:\n  - `a b` > 3\n",
        9,
        "not valid YAML: a value cannot begin with a backquote; put the whole text in single quotes",
    ),
    (GOOD + "constraints: age > 3\n", 8, "constraints must be a list, got 'age > 3'; write [age > 3]"),
    (GOOD + "constraints:\n  - 3\n", 9, "a constraint is a text or a mapping, not 3; put the text in quotes"),
    (
        GOOD + "constraints:\n  - {columns: [sex, relation], allowed: [[Male, Husbnd]]}\n",
        9,
        "allowed: column 'relation': 'Husbnd' is not one of ['Husband', 'Wife', 'yes']; did you mean 'Husband'?",
    ),
    (
        GOOD + "constraints:\n  - age > 50\n  - age < 40\n",
        8,
        "no row keeps these constraints together: age > 50  |  age < 40; loosen one of them, or widen the ranges of their columns",
    ),
    (
        GOOD + "constraints:\n  - sex determines relation\n",
        9,
        "`sex determines relation` has no map, and there are no data rows to learn it from; give data, or write the map out",
    ),
    (
        GOOD + "twins: {compare: {age: {bins: [17, 20]}}}\n",
        8,
        "protected column 'age': bins need at least three ascending borders, got [17, 20]",
    ),
    (GOOD + "twins:\n  compare:\n    agee: {bins: [17, 30, 90]}\n", 10, "unknown column 'agee'; did you mean 'age'?"),
    (GOOD + "twins:\n  compare: {sex: {bins: [1, 2, 3]}}\n", 9, "protected column 'sex': bins are for numbers; list values instead"),
    (GOOD + "twins:\n  compare: {age: {}}\n", 9, "compare 'age' needs values: [...] or bins: [...]"),
    (
        GOOD + "twins:\n  implied:\n    - {column: sex, from: Male, to: Femal, changes: {}}\n",
        10,
        "column 'sex': 'Femal' is not one of ['Male', 'Female']",
    ),
    (
        GOOD + "twins:\n  implied:\n    - {column: sex, from: Male, to: Female, changes: {relatio: {Husband: Wife}}}\n",
        10,
        "implied change: there is no column 'relatio'",
    ),
    (GOOD + "twins:\n  implied:\n    - {column: sex, to: Female, changes: {}}\n", 10, "the key 'from' is missing in 'twins.implied.0'"),
    (GOOD + "data: {path: x, missing_values: '?'}\n", 8, "data.missing_values must be a list, got '?'; write [\"?\"]"),
    (GOOD + "model: {path: a, url: 'http://b'}\n", 8, "model needs either path: or url:, and not both"),
    (GOOD + "model: {path: a, http: {retries: 3}}\n", 8, "http: settings are for a model with a url:"),
    (GOOD + "model: {path: a, trusted: yes}\n", 8, "model.trusted must be true or false, got 'yes'"),
    (
        GOOD + "model: {path: a, takes: dataframe}\n",
        8,
        "model.takes must be 'frame', 'matrix', 'codes' or 'codes_frame', got 'dataframe'; did you mean 'frame'?",
    ),
    (GOOD + "model: {url: 'ftp://x'}\n", 8, "url 'ftp://x' must begin with http:// or https://"),
    (GOOD + "model:\n  url: http://x\n  http: {retrys: 3}\n", 10, "unknown key 'model.http.retrys'; did you mean 'retries'?"),
    (GOOD + "scan: {budget: {}}\n", 8, "budget needs at least one of candidates, model_rows, seconds"),
    (GOOD + "scan: {budget: {candidates: 0}}\n", 8, "scan.budget.candidates must be at least 1, got 0"),
    (GOOD + "scan: {budget: {candidates: many}}\n", 8, "scan.budget.candidates must be a whole number, got 'many'"),
    (GOOD + "scan: {methods: themis}\n", 8, "scan.methods must be a list, got 'themis'; write [themis]"),
    (GOOD + "scan: {methods: [{a: {}, b: {}}]}\n", 8, "a method is a name, or one name with its parameters"),
    (GOOD + "gate: {max_rate: 1.5}\n", 8, "gate.max_rate must be at most 1.0, got 1.5"),
    (GOOD + "gate: {confidence: 95}\n", 8, "gate.confidence must be below 1.0, got 95"),
]


@pytest.mark.parametrize(("text", "line", "message"), MISTAKES, ids=[message[:40] for _, _, message in MISTAKES])
def test_a_mistake_is_reported_with_file_line_and_cure(text, line, message, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(DomainError) as caught:
        read_project(path)
    assert str(caught.value) == f"{path}:{line}: {message}"
    assert caught.value.line == line


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(DomainError, match=r"there is no such file; `evenhand init data\.csv` writes one"):
        load(tmp_path / "nothing.yaml")
    with pytest.raises(DomainError, match="this is a folder"):
        load(tmp_path)


def test_deep_nesting_is_refused(tmp_path):
    with pytest.raises(DomainError, match="nested deeper than 40 levels; no section needs that"):
        load(written(tmp_path, "a: " + "[" * 5000 + "]" * 5000))


def test_unquoted_words_and_dates_stay_texts(tmp_path):
    domain = load(written(tmp_path, GOOD.replace("[Husband, Wife, yes]", "[yes, no, on, 2020-01-01, 007, 1:30, 1_000, 12, 1.5, true]")))
    assert domain.columns[2].values == ("yes", "no", "on", "2020-01-01", "007", "1:30", "1_000", 12, 1.5, True)


def everything(folder: Path) -> Project:
    frame = pd.DataFrame(
        {
            "age": [20, 30, 40] * 20,
            "sex": ["m", "f"] * 30,
            "role": ["Husband", "Wife"] * 30,
            "yes": [1.5, None] * 30,
            "income": [0, 1, 1] * 20,
        }
    )
    domain = propose(frame, InferWishes("income", 1, ("sex", "age"))).domain
    rules = ['role == "Husband" => sex == "m"', "role determines sex", {"columns": ["sex", "role"], "forbidden": [["m", "Wife"]]}]
    domain = replace(
        domain,
        constraints=compile_constraints(rules, domain.columns, domain.encode(frame)),
        comparisons={"age": Comparison(edges=(20, 30.5, 40))},
        implied=(Implied("sex", "m", "f", {"role": {"Husband": "Wife"}}),),
    )
    return Project(
        domain,
        DataSource(folder / "data.csv", missing_values=("", "?")),
        ModelSource(
            url="https://models.example/score", returns="scores", classes=(0, 1), http={"retries": 2, "headers": {"X-Key": "${KEY}"}}
        ),
        ScanSettings((MethodChoice("themis"), MethodChoice("limi", {"latents": 10})), 1000, None, 2.5, 7, "data", folder / "runs", 500),
        GateSettings(0.01, 0.9, 0.005),
    )


def test_a_project_comes_back_equal(tmp_path):
    project = everything(tmp_path)
    save_project(project, tmp_path / "evenhand.yaml")
    assert read_project(tmp_path / "evenhand.yaml") == project
    assert load(tmp_path / "evenhand.yaml") == project.domain


def test_the_shortest_project_is_short(tmp_path):
    project = replace(
        everything(tmp_path),
        data=DataSource(tmp_path / "data.csv"),
        model=ModelSource(tmp_path / "model.skops"),
        scan=ScanSettings(runs=tmp_path / "runs"),
        gate=GateSettings(),
    )
    save_project(project, tmp_path / "evenhand.yaml")
    text = (tmp_path / "evenhand.yaml").read_text()
    assert "\ndata: data.csv\n" in text
    assert "\nmodel: model.skops\n" in text
    assert "\nscan:" not in text
    assert read_project(tmp_path / "evenhand.yaml") == project


def test_every_section_is_explained_to_its_reader(tmp_path):
    save_project(everything(tmp_path), tmp_path / "evenhand.yaml")
    lines = (tmp_path / "evenhand.yaml").read_text().splitlines()
    for section in ("label", "protected", "columns", "twins", "constraints", "data", "model", "scan", "gate"):
        place = next(number for number, line in enumerate(lines) if line.startswith(f"{section}:"))
        assert lines[place - 1].startswith("#"), section


def test_suggestions_stand_in_the_file_as_comments_that_can_be_put_into_force(tmp_path):
    frame = pd.DataFrame({"sex": ["m", "f"] * 300, "role": ["Husband", "Wife"] * 300, "start": [1, 4, 9] * 200, "end": [2, 7, 12] * 200})
    proposal = propose(frame)
    path = tmp_path / "evenhand.yaml"
    save_project(Project(proposal.domain), path, proposal)
    text = path.read_text()
    assert load(path) == proposal.domain
    assert "# Columns whose names suggest protection: [sex]" in text
    lines = [line[1:] if line.startswith(("#  - ", "# constraints:", "# relations:")) else line for line in text.splitlines()]
    path.write_text("\n".join(line.removeprefix(" ") if line in (" constraints:", " relations:") else line for line in lines))
    forced = load(path, proposal.domain.encode(frame))
    suggested = [suggestion.text for suggestion in proposal.further] + [relation.text for relation in proposal.relations]
    assert [constraint.text for constraint in forced.constraints] == suggested
    assert len(forced.constraints) >= 2


def test_a_dependency_is_learned_from_the_data_beside_the_file(tmp_path):
    pd.DataFrame({"age": [20, 21, 22], "sex": ["Male", "Female", "Male"], "relation": ["Husband", "Wife", "Husband"]}).to_csv(
        tmp_path / "d.csv", index=False
    )
    path = written(tmp_path, GOOD + "data: d.csv\nconstraints:\n  - relation determines sex\n")
    domain = load(path)
    assert domain.constraints[0].source["map"] == {"Husband": "Male", "Wife": "Female"}
    (tmp_path / "d.csv").unlink()
    with pytest.raises(ConstraintError) as caught:
        load(path)
    assert "the data that this rule is learned from cannot be used: there is no file" in str(caught.value)
    assert caught.value.line == 10
    assert load(path, np.array([[20.0, 0.0, 0.0]])).constraints[0].source["map"] == {"Husband": "Male"}


def test_a_folder_that_cannot_be_written_is_reported(tmp_path):
    domain = everything(tmp_path).domain
    with pytest.raises(DomainError, match="cannot be written"):
        save(domain, tmp_path / "no" / "such" / "folder.yaml")


@pytest.mark.parametrize("limit", ["tolerance: 500", "share: 0.05", "tolerance: 500, share: 0.05", "unit: EUR"])
def test_a_label_with_a_tolerance_is_an_amount_whether_a_unit_is_written_or_not(tmp_path, limit):
    label = read_project(written(tmp_path, changed(CLASSES, limit))).domain.label
    assert label.is_amount
    assert (label.unit, label.tolerance) == ("EUR" if "unit" in limit else "", 500 if "tolerance" in limit else None)


def test_the_shipped_schema_is_the_one_of_the_models():
    shipped = Path(schema.__file__).with_name("evenhand.schema.json")
    assert json.loads(shipped.read_text()) == schema.json_schema()


def test_the_schema_accepts_what_is_saved_and_refuses_unknown_keys(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    from evenhand.domain.yamltext import read_yaml

    checker = jsonschema.Draft202012Validator
    checker.check_schema(schema.json_schema())
    save_project(everything(tmp_path), tmp_path / "evenhand.yaml")
    content = read_yaml((tmp_path / "evenhand.yaml").read_text(), "x").value
    assert checker(schema.json_schema()).is_valid(content)
    assert checker(schema.json_schema()).is_valid(content | {"model": "model.skops", "data": "data.csv"})
    assert not checker(schema.json_schema()).is_valid(content | {"protectd": []})
    assert not checker(schema.json_schema()).is_valid(content | {"gate": {"max_rate": 2.0}})
