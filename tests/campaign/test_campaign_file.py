"""A campaign file: expanded, estimated, made, continued, extended, in one report; mistakes are told with their line."""

import json

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaign import run_maker
from evenhand.campaign.campaign_file import read_campaign
from evenhand.campaign.campaign_folder import CampaignFolder
from evenhand.campaign.estimates import CampaignEstimate
from evenhand.disk import locked
from evenhand.errors import DomainError, StoreError
from evenhand.planted import shapes
from evenhand.verbs.campaign import CampaignOptions, estimated

PLANTED = shapes()["wide_band"]
PLAN = "data: {file: people.csv, label: decision}\nprotected: group\nmodels: forest\nmethods: themis\nbudgets: {candidates: 300}\n"


@pytest.fixture
def file(tmp_path):
    rows = PLANTED.domain.sample(300, np.random.default_rng(0))
    frame = PLANTED.domain.decode(rows)
    frame["decision"] = np.array(["refused", "granted"])[PLANTED.model.scores(rows).argmax(axis=1)]
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "night.yaml").write_text(PLAN)
    return tmp_path / "night.yaml"


def test_every_combination_is_one_run(file):
    file.write_text(
        "data: [adult, credit]\nprotected: [sex, 'adult: race, sex']\nmodels: [forest, mlp]\nmethods: [themis, adf]\nseeds: [3, 5]\n"
    )
    plan = read_campaign(file)
    assert len(plan.sources) == 2 * 2 + 2
    assert len(plan.orders) == 6 * 2 * 2
    assert {order.cell.seed for order in plan.orders} == {3, 5}
    assert ("race", "sex") in {source.protected for source in plan.sources}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("data: adult\nmethod: themis\n", ":2: unknown key 'method'"),
        ("data: adult\nmethods: [themis, temis]\n", ":2: methods: unknown method 'temis'"),
        ("data: adult\nbudgets:\n  - {candidates: 0}\n", ":3: budgets: candidates=0"),
        ("data: adult\nseeds: none\n", ":2: seeds: 'none' must be"),
        ("models: forest\n", "data: name at least one"),
        ("data: adult\nmodels: 'no/*.skops'\n", ":2: models: no file matches"),
    ],
)
def test_mistakes_are_told_with_their_line(file, text, told):
    file.write_text(text)
    with pytest.raises(DomainError, match=told):
        read_campaign(file)


def test_a_campaign_is_continued_extended_and_reported(file, monkeypatch):
    first = eh.run_campaign(file)
    assert [record["status"] for record in first.records] == ["done"]
    made, real = [], run_maker.contend
    monkeypatch.setattr(run_maker, "contend", lambda order, *rest: made.append(order) or real(order, *rest))
    file.write_text(PLAN + "seeds: 2\n")
    told = estimated(file)
    assert (told.runs, told.made_before) == (2, 1)
    assert 300 < told.model_rows <= 1_200
    made.clear()
    both = eh.run_campaign(file)
    assert [cell.seed for cell in made] == [1]
    assert both.records[0]["findings_digest"] == first.records[0]["findings_digest"]
    assert both.outcome == "violation"
    page = both.report(file.parent / "page.html").read_text()
    assert "Every model" in page
    assert "2 runs, 1 of them made before" in page
    assert json.loads(both.report(file.parent / "page.json").read_text())["verb"] == "campaign"


@pytest.mark.parametrize("damaged", ["records/*.json", "findings/*.parquet", "findings/*.sha256"])
def test_a_damaged_record_is_made_again_and_told(file, damaged):
    first = eh.run_campaign(file, options=CampaignOptions(keep_findings=True))
    folder = CampaignFolder(read_campaign(file).folder)
    kept = next(folder.path.glob(damaged))
    kept.write_bytes(kept.read_bytes()[:50])
    again = eh.run_campaign(file, options=CampaignOptions(keep_findings=True))
    assert again.records[0]["findings_digest"] == first.records[0]["findings_digest"]
    assert [event["event"] for event in again.events][-3:] == ["damaged", "started", "finished"]
    assert len(folder.findings(again.records[0]["id"])) == first.records[0]["findings"] > 0


def test_two_campaigns_never_share_a_folder(file):
    folder = read_campaign(file).folder
    folder.mkdir()
    with locked(folder / "lock"), pytest.raises(StoreError, match="is in use by process"):
        eh.run_campaign(file)


def test_an_estimate_names_money_and_time():
    told = CampaignEstimate(1_000, 10, 5_000_000, 50.0, 36_000.0, 4).sentence(2)
    assert "1,000 runs, 10 of them made before" in told
    assert "5,000,000 model rows, which costs at most about 50.00 and takes about 5.0 hours with 2 workers" in told
