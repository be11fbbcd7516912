"""What pages take for granted: a small table of applicants, a model of it, and the project file beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from sklearn.base import ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from skops.io import dump

from evenhand.domain.project_file import Project, read_project

PROJECT = """version: 1
label: {column: approved, values: ["no", "yes"], favourable: ["yes"]}
protected: [sex]
columns:
  sex: {kind: category, values: [female, male]}
  race: {kind: category, values: [a, b]}
  age: {kind: integer, low: 18, high: 69}
  income: {kind: integer, low: 5000, high: 200000}
  years: {kind: integer, low: 0, high: 29}
data: applicants.csv
model: model.skops
"""


def applicants(count: int = 1500) -> pd.DataFrame:
    """People of whom men are approved a little more readily."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({
        "sex": rng.choice(["female", "male"], count),
        "race": rng.choice(["a", "b"], count),
        "age": rng.integers(18, 70, count),
        "income": rng.lognormal(10.3, 0.4, count).round(-2),
        "years": rng.integers(0, 30, count),
    })  # fmt: skip
    merit = people["income"] / 10_000 + people["years"] / 10 + 0.5 * (people["sex"] == "male")
    return people.assign(approved=np.where(merit + rng.normal(0, 0.5, count) > 5, "yes", "no"))


def fitted(people: pd.DataFrame, classifier: ClassifierMixin | None = None) -> Pipeline:
    """A classifier of them; without one, a logistic regression."""
    encode = make_column_transformer((OneHotEncoder(), ["sex", "race"]), (StandardScaler(), ["age", "income", "years"]))
    return make_pipeline(encode, classifier or LogisticRegression()).fit(people.drop(columns="approved"), people["approved"])


def write_project(folder: Path | str = ".", classifier: ClassifierMixin | None = None) -> None:
    """applicants.csv, model.skops and evenhand.yaml."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    people = applicants()
    people.to_csv(place / "applicants.csv", index=False)
    dump(fitted(people, classifier), place / "model.skops")
    (place / "evenhand.yaml").write_text(PROJECT, encoding="utf-8")


def as_project(shown: str) -> Project:
    """A part of a project file, read as a whole one: what it does not say is taken from the project above."""
    told = yaml.safe_load(shown)
    rest = {} if "medium" in told else {key: value for key, value in yaml.safe_load(PROJECT).items() if key not in told}
    path = Path("shown.yaml")
    path.write_text(yaml.safe_dump({"version": 1, **rest, **told}, sort_keys=False), encoding="utf-8")
    return read_project(path)
