"""Columns that change along with a protected one: learnt where the data is clear, proposed, in force only by a person's word, and said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.domain.co_changes import learn_co_changes
from evenhand.domain.infer import InferWishes, propose
from evenhand.domain.project_file import read_project
from evenhand.verbs.init import init

N = 600


def people(wrong: int = 0, titles: bool = False) -> pd.DataFrame:
    """Half women, half men; the married are wives and husbands but for some wrong cells; hours only go along with sex."""
    rng = np.random.default_rng(5)
    sex = np.array(["f", "m"])[rng.integers(0, 2, N)]
    married = rng.random(N) < 0.5
    role = np.where(married, np.where(sex == "f", "wife", "husband"), "alone")
    role[np.flatnonzero(sex == "f")[:wrong]] = "husband"
    hours = rng.integers(10, 40, N) + 10 * (sex == "m")
    frame = pd.DataFrame({"sex": sex, "role": role, "hours": hours, "job": np.array(["a", "b"])[(rng.random(N) < 0.8 * (sex == "m")) * 1]})
    if titles:
        frame["title"] = np.where(sex == "m", "Mr", np.where(married, "Mrs", "Ms"))
    return frame.assign(granted=np.where(rng.random(N) < 0.5, "yes", "no"))


def learnt(frame: pd.DataFrame) -> list[dict[str, dict[str, str]]]:
    found = propose(frame, InferWishes("granted", "yes", ("sex",))).co_changes
    return [{name: dict(cells) for name, cells in each.rule.changes.items()} for each in found]


def test_a_pair_of_values_is_learnt_and_what_merely_goes_along_is_not():
    assert learnt(people()) == [{"role": {"wife": "husband"}}]


def test_values_that_do_not_belong_to_one_group_are_not():
    assert learnt(people(wrong=30)) == []


def test_nobody_is_paired_by_guessing():
    assert learnt(people(titles=True)) == [{"role": {"wife": "husband"}}]  # Ms and Mrs against Mr


def test_several_values_are_paired_by_their_people():
    rng = np.random.default_rng(6)
    young, sex = rng.random(N) < 0.5, rng.integers(0, 2, N)
    words = np.array([["woman", "man"], ["girl", "boy"]])
    frame = pd.DataFrame(
        {"sex": np.array(["f", "m"])[sex], "word": words[young * 1, sex], "age": np.where(young, 12, 40) + rng.integers(0, 9, N)}
    )
    assert learnt(frame.assign(granted=np.where(young, "no", "yes"))) == [{"word": {"girl": "boy", "woman": "man"}}]


def test_a_few_rows_teach_nothing():
    data = propose(people().head(40), InferWishes("granted", "yes", ("sex",)))
    assert learn_co_changes(data.domain, data.domain.encode(people().head(40))) == ()


@pytest.mark.parametrize("accepted", [False, True])
def test_init_proposes_with_the_reason_and_only_the_accepted_is_in_force_and_said(tmp_path, accepted):
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    wishes = {"label": "granted", "favourable": "yes", "protected": ["sex"], "co_changed": accepted}
    written = init(tmp_path / "people.csv", file=tmp_path / "evenhand.yaml", **wishes)
    assert "role 'wife' has sex 'f' in" in written.summary()
    assert "in force" in written.summary()
    text = (tmp_path / "evenhand.yaml").read_text()
    assert "learnt: true" in text
    assert ("#     - {column: sex" in text) is not accepted
    domain = read_project(tmp_path / "evenhand.yaml").domain
    assert len(domain.implied) == (1 if accepted else 0)
    data = eh.open(tmp_path / "evenhand.yaml")
    model = eh.wrap(lambda table: (table["role"] == "wife").to_numpy().astype(float), data, returns="score", threshold=0.5)
    result = eh.scan(model, data, budget=eh.Budget(candidates=300), seed=1)
    said = "Twins also change role (wife becomes husband) where sex goes from f to m, and back: learnt from the data, not known to be so."
    assert (said in result.summary(), said in result.as_dict()["sentences"]) == (accepted, accepted)
    assert bool(len(result.findings)) is accepted  # a wife's twin is a husband, or stays a wife


def test_a_comment_taken_out_of_its_marks_is_read(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    file = tmp_path / "evenhand.yaml"
    init(tmp_path / "people.csv", label="granted", favourable="yes", protected=["sex"], file=file)
    marked = ("# twins:", "#   implied:", "#     - {column: sex")
    lines = [line[2:] if line.startswith(marked) else line for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")
    rule = read_project(file).domain.implied[0]
    assert rule.is_learnt
    assert rule.changes == {"role": {"wife": "husband"}}


def test_who_asks_for_changes_where_there_are_none_is_told(tmp_path):
    people(wrong=30).to_csv(tmp_path / "people.csv", index=False)
    file = tmp_path / "evenhand.yaml"
    written = init(tmp_path / "people.csv", label="granted", favourable="yes", protected=["sex"], file=file, co_changed=True)
    assert "nothing was found that changes along" in written.summary()
    assert read_project(file).domain.implied == ()
