"""Who may ask: only this machine, with the token, from our own pages; and no path leads out of the store."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from visitors import TOKEN

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("path", ["/", "/trends", "/events", "/static/dashboard.js", "/runs/0123456789", "/what-if", "/projects"])
def test_nothing_is_answered_without_the_token(visit, path):
    stranger = visit(knows=False)
    assert stranger.get(path).status_code == 403
    assert stranger.get(path, headers={"x-evenhand-token": "guess"}).status_code == 403
    assert stranger.get(path, cookies={"evenhand_8765": "guess"}).status_code == 403
    assert stranger.get(f"{path}?token=guess").status_code == 403


def test_the_printed_address_opens_and_leaves_the_token_in_a_cookie_only(visit):
    stranger = visit(knows=False)
    entry = stranger.get(f"/?token={quote(TOKEN)}")
    assert entry.status_code == 200
    cookie = entry.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in entry.text
    assert stranger.get("/").status_code == 200  # by the cookie


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1:9999", "127.0.0.1", ""])
def test_another_host_is_refused_even_with_the_token(visit, host):
    assert visit().get("/", headers={"host": host}).status_code == 403
    assert visit().get("/", headers={"host": "localhost:8765"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8765", "http://127.0.0.1:1"])
def test_another_origin_is_refused_even_with_the_token(visit, origin):
    assert visit().get("/", headers={"origin": origin}).status_code == 403
    assert visit().get("/", headers={"origin": "http://127.0.0.1:8765"}).status_code == 200


def test_what_another_site_embeds_is_refused(visit):
    embedded = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    assert visit().get("/", headers=embedded).status_code == 403


@pytest.mark.parametrize("path", ["/start", "/what-if", "/projects/0123456789", "/commands/0123456789/stop", "/runs/0123456789/resume"])
def test_a_form_needs_the_token_of_a_page(visit, path):
    visitor = visit()
    assert visitor.post(path, content="verb=scan", headers=FORM).status_code == 403
    assert visitor.post(path, content="form_token=guess", headers=FORM).status_code == 403
    token = visitor.app.state.dashboard.credentials.form_token
    assert visitor.post(path, content=f"form_token={token}", headers=FORM).status_code != 403


def test_more_than_a_form_is_refused(visit):
    assert visit().post("/start", content=b"x" * 2_100_000, headers=FORM).status_code == 413


def test_every_answer_tells_the_browser_what_to_refuse(visit):
    for path in ("/", "/nothing", "/static/style.css"):
        headers = visit().get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


@pytest.fixture
def search(visit):
    return next(e for e in visit().app.state.dashboard.catalogue._known_now() if e.kind == "search" and e.path.startswith("loans"))


@pytest.mark.parametrize(
    "name",
    ["../../evenhand.yaml", "..%2f..%2fevenhand.yaml", "%2e%2e/%2e%2e/evenhand.yaml", "/etc/passwd", "%2fetc%2fpasswd", "a%00b", "outside"],
)
def test_no_path_leads_out_of_the_store(visit, store, search, name):
    outside = store.parent / "secret.txt"
    outside.write_text("secret")
    (store / search.path / "outside").symlink_to(outside)
    answer = visit().raw(f"/runs/{search.id}/files/{name}")
    assert answer.status_code in (403, 404)
    assert "secret" not in answer.text.replace("secret.txt", "")
    assert "columns:" not in answer.text


def test_a_file_of_a_search_is_given(visit, search):
    answer = visit().get(f"/runs/{search.id}/files/log.jsonl")
    assert answer.status_code == 200
    assert '"created"' in answer.text


def test_links_to_folders_outside_are_not_walked_into(visit, store):
    elsewhere = store.parent / "elsewhere"
    elsewhere.mkdir()
    (store / "loans" / "runs" / "result.json").rename(elsewhere / "result.json")
    (store / "link").symlink_to(elsewhere)
    assert not [e for e in visit().app.state.dashboard.catalogue.entries() if "link" in e.path]
