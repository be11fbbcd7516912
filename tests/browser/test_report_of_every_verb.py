"""The page of every verb and every medium in a real browser: quiet, alone, whole on a desk, a phone and paper, and usable by keys alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from chromium import CHROMIUM, Browser, chromium

from evenhand import report

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def look(browser: Browser, page: Path, width: int, dark: bool = False) -> None:
    """Open a page; it must be quiet, alone, no wider than the screen, and say what its pictures show."""
    browser.errors.clear()
    browser.asked.clear()
    browser.screen(width, dark=dark)
    browser.open(page.as_uri())
    assert browser.overflow() <= 0, (page.name, width)
    assert browser.errors == [], (page.name, browser.errors)
    assert [each for each in browser.asked if not each.startswith(("data:", page.as_uri()))] == [], page.name
    assert browser.run("document.querySelectorAll('h1').length") == 1
    assert browser.run("[...document.querySelectorAll('svg[role=img]')].every(e => e.ariaLabel?.trim())"), page.name
    named = "e.caption || e.ariaLabel?.trim() || e.getAttribute('aria-labelledby')"
    assert browser.run(f"[...document.querySelectorAll('table')].every(e => {named})"), page.name
    assert browser.run("[...document.querySelectorAll('th')].every(e => e.textContent.trim())"), page.name
    reached = "e.tabIndex == 0 && e.ariaLabel?.trim()"
    assert browser.run(f"[...document.querySelectorAll('.scroll, .wide')].every(e => {reached})"), page.name
    levels = browser.run("[...document.querySelectorAll('h1, h2, h3, h4')].map(e => +e.tagName[1])")
    assert all(after <= before + 1 for before, after in pairwise(levels)), (page.name, levels)


@pytest.mark.slow
def test_attacks_in_the_page_of_every_verb_do_nothing(browser: Browser, tmp_path: Path) -> None:
    from parts.report_grid import of_verb, poisoned, verbs

    for verb in verbs():
        page = report.write(poisoned(of_verb(verb)), tmp_path / f"{verb}.html")
        look(browser, page, 390)
        assert browser.run("document.title").startswith(("Pass: ", "Done: ", "Violation: ", "Inconclusive: ")), verb
        assert browser.run("document.querySelectorAll('script').length") == 0, verb
        assert not browser.run("[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on')))"), verb


@pytest.mark.slow
def test_every_page_fits_a_desk_a_phone_and_paper_and_needs_no_mouse(browser: Browser, tmp_path: Path) -> None:
    from parts.report_grid import cells

    for name, content in cells():
        page = report.write(content, tmp_path / f"{name}.html")
        look(browser, page, 1280)
        look(browser, page, 390, dark=True)
        assert browser.pdf().startswith(b"%PDF"), name
        _by_keys(browser, name)


def _by_keys(browser: Any, name: str) -> None:
    """The first Tab skips to the verdict; every section of the navigation and every fold is reached and opened by keys."""
    browser.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    browser.tab_to("it.className == 'skip'", 3)
    browser.press("Enter")
    browser.until("location.hash == '#verdict'")
    last = browser.run("[...document.querySelectorAll('nav a')].at(-1)?.getAttribute('href') || ''")
    assert last, name
    browser.tab_to(f"it.getAttribute('href') == '{last}'")
    browser.press("Enter")
    browser.until(f"location.hash == '{last}'")
    assert browser.run("[...document.querySelectorAll('details > summary')].every(e => e.tabIndex >= 0)"), name
