"""The study in a real browser: answers survive a reload, can be gone back to, and are handed in once, whole."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from chromium import CHROMIUM, chromium

from evenhand.measures.believability import REAL
from evenhand.verbs.study import Slide, serve

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]

ANSWER = """(() => { for (const [id, value] of [["realism", %d], ["likelihood", %d], ["count", %d]]) {
  const field = document.getElementById(id); field.value = value; field.dispatchEvent(new Event("input")); }
  document.getElementById("next").click(); return true; })()"""


def test_answers_survive_a_reload_can_be_changed_and_are_stored_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    deck = [Slide(f"{k}", rng.integers(0, 255, (40, 60, 3), np.uint8), REAL if k % 2 else "fog", f"scene {k}", k) for k in range(4)]
    server = serve(deck, tmp_path / "answers")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with chromium(tmp_path / "profile") as browser:
            browser.screen(390)
            browser.open(server.address)
            assert browser.overflow() <= 0
            browser.run(ANSWER % (7, 6, 1))
            browser.run(ANSWER % (5, 5, 2))
            first = browser.run("JSON.stringify(state.order)")
            browser.open(server.address)
            assert "Picture 3 of 4" in browser.text()
            assert browser.run("JSON.stringify(state.order)") == first, "a reload keeps the person's own order"
            browser.run("document.getElementById('back').click()")
            assert browser.run("document.getElementById('realism').value + document.getElementById('count').value") == "52"
            browser.run(ANSWER % (9, 5, 2))
            browser.run("document.getElementById('next').click()")
            assert "Picture 3 of 4" in browser.text(), "an unanswered picture is not passed over"
            browser.run(ANSWER % (1, 1, 0))
            browser.run(ANSWER % (2, 2, 0))
            browser.until("document.body.innerText.includes('Thank you')")
            assert browser.errors == []
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    (stored,) = (tmp_path / "answers").glob("*.json")
    order = [int(key) for key in json.loads(first)]
    marks = {one["key"]: one["realism"] for one in json.loads(stored.read_text(encoding="utf-8"))}
    assert [marks[key] for key in order] == [7, 9, 1, 2]
