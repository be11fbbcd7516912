"""Every page of the dashboard in a real browser, over an ordinary and a hostile store: no error, nothing from outside, on every screen."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parent))
from chromium import CHROMIUM, chromium

from parts.dashboard_store import HOSTILE, many_runs, pages_of, scan_project, served, write_project

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    result = scan_project(write_project(folder / "loans"))
    many_runs(folder, result, 60)
    return folder


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "x'\"<img src=x onerror=alert(1)>"
    file = write_project(folder / "<b>bold</b> \u202eיסרוא", HOSTILE)
    scan_project(file)
    scan_project(file, 700)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
def entered(browser, store):
    """The browser behind the printed address, at the list of runs."""
    with served(store) as site:
        enter(browser, site)
        yield browser, site
        browser.open("about:blank")


def enter(browser: Any, site: Any) -> None:
    browser.screen(1280)
    browser.open(f"{site.address}/?token={site.token}")
    browser.until("document.title.startsWith('Runs') && document.readyState == 'complete'")
    forget(browser)


def forget(browser: Any) -> None:
    browser.errors.clear()
    browser.asked.clear()


def look(browser: Any, site: Any, path: str) -> None:
    """Open a page on a desk, on a phone, in the dark and on paper; it must be quiet, whole and alone."""
    for width, dark in ((1280, False), (390, True)):
        browser.screen(width, dark=dark)
        browser.open(site.address + path)
        browser.until("!document.body.innerText.includes('are being opened')", 60)
        assert browser.overflow() <= 0, (path, width)
        assert browser.run("document.querySelectorAll('h1').length") >= 1, path
        unnamed = "[...document.querySelectorAll('input:not([type=hidden]),select,textarea,button,progress,img,a')].filter(e =>"
        unnamed += " !(e.labels?.length || e.ariaLabel || e.alt || e.innerText?.trim() || e.textContent.trim())).length"
        assert browser.run(unnamed) == 0, path
    assert browser.errors == [], (path, browser.errors)
    assert [address for address in browser.asked if not address.startswith((site.address, "data:"))] == [], path
    assert browser.pdf().startswith(b"%PDF")
    forget(browser)


@pytest.mark.slow
def test_every_page_is_quiet_whole_and_alone(entered):
    browser, site = entered
    pages = [path for path in pages_of(site) if "/as/" not in path]
    assert len(pages) > 15
    for path in pages:
        look(browser, site, path)


@pytest.mark.slow
def test_nothing_of_a_hostile_store_runs(browser, hostile_store):
    with served(hostile_store) as site:
        enter(browser, site)
        for path in pages_of(site):
            if "/as/" in path:
                continue
            look(browser, site, path)
            title = browser.run("document.title")
            assert "owned" not in title or "<script>" in title, path
            assert browser.run("document.querySelectorAll('script').length") == 1, path
            assert not browser.run("[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on')))"), (
                path
            )
            assert not browser.run("[...document.images].some(i => i.src.endsWith('/x'))"), path


def test_the_eye_sees_a_script_that_runs(browser, tmp_path):
    """So that the test above is known not to be blind."""
    page = tmp_path / "open.html"
    page.write_text("<title>closed</title><h1>x</h1><img src=http://127.0.0.1:9/x><script>document.title='owned'; nothing.there</script>")
    browser.open(page.as_uri())
    assert browser.run("document.title") == "owned"
    assert any("nothing" in error for error in browser.errors)
    assert "http://127.0.0.1:9/x" in browser.asked
    forget(browser)


def test_what_if_by_keyboard_alone(entered):
    browser, site = entered
    project = site.dashboard.catalogue.projects()[0]
    browser.open(f"{site.address}/what-if?project={project.id}")
    browser.until("!!document.getElementById('answers')", 60)
    assert "Changed" not in browser.run("document.getElementById('answers').innerText")
    browser.press("Tab")
    assert "Skip" in browser.run("document.activeElement.innerText")
    browser.tab_to("it.name == 'c2'")
    for key in "51":
        browser.press(key)
    browser.press("Tab")  # leaving the cell asks the model, without the page being loaded again
    browser.until("document.getElementById('answers').innerText.includes('Changed: income')", 60)
    assert browser.run("document.querySelector('.cell-field.changed label').innerText").startswith("income")
    assert browser.run("document.querySelectorAll('.twin-list li').length") == 2
    assert browser.errors == []


def test_faults_stand_beside_the_line_while_it_is_written(entered):
    browser, site = entered
    project = site.dashboard.catalogue.projects()[0]
    browser.open(f"{site.address}/projects/{project.id}")
    assert browser.run("document.getElementById('fault').hidden")
    browser.run("const t = document.getElementById('rules'); t.value = t.value.replace('kind: integer', 'kind: integre');"
                "t.dispatchEvent(new Event('input'))")  # fmt: skip
    line = browser.until("!document.getElementById('fault').hidden && document.querySelector('#numbers b').innerText")
    wrong = browser.run("1 + document.getElementById('rules').value.split('\\n').findIndex(l => l.includes('integre'))")
    assert line == f"✕ {wrong}"
    assert "integre" in browser.run("document.getElementById('fault-line').innerText")
    assert browser.errors == []


@pytest.mark.slow
def test_start_stop_and_go_on(entered, store):
    """By forms and keyboard: a scan is started, its progress seen, stopped, found interrupted, continued to its end."""
    browser, site = entered
    project = next(place for place in site.dashboard.catalogue.projects())
    browser.open(f"{site.address}/start?project={project.id}")
    browser.tab_to("it.name == 'candidates'")
    for key in "40000000":
        browser.press(key)
    browser.tab_to("it.tagName == 'SUMMARY' && it.innerText.includes('Methods')")
    browser.press("Enter")
    browser.tab_to("it.name == 'method'")
    browser.press("c")  # chains, which goes on where a method that lists the whole small domain would be done at once
    assert browser.run("[...document.querySelector('[name=method]').selectedOptions].map(each => each.value).join()") == "chains"
    browser.tab_to("it.tagName == 'BUTTON' && it.innerText == 'Start'")
    browser.press("Enter")
    browser.until("location.pathname.startsWith('/commands/')")
    browser.until("document.querySelector('.bar-words').innerText.includes('of 40,000,000')", 90)
    browser.until("/; about \\d+ (s|min|h) left$/.test(document.querySelector('.bar-words').innerText)", 60)
    browser.tab_to("it.tagName == 'BUTTON' && it.innerText == 'Stop'")
    browser.press("Enter")
    browser.until("document.body.innerText.includes('interrupted')", 60)
    (command,) = site.dashboard.commands.all()
    assert command.code == 130
    site.dashboard.catalogue.refresh(wait=True)
    search = next(e for e in site.dashboard.catalogue.entries() if e.state == "interrupted")
    browser.open(f"{site.address}/runs/{search.id}")
    browser.tab_to("it.tagName == 'BUTTON' && it.innerText == 'Go on'")
    browser.press("Enter")
    browser.until("location.pathname.startsWith('/commands/')")
    browser.until("document.querySelector('.bar-words')?.innerText.includes('of 40,000,000')", 90)
    assert browser.errors == []
    running = site.dashboard.commands.running()[0]
    log = (store / search.path / "log.jsonl").read_text()
    assert '"resumed"' in log  # the same folder goes on
    site.dashboard.commands.stop(running.id)
    ends = time.monotonic() + 60
    while site.dashboard.commands.running() and time.monotonic() < ends:
        time.sleep(0.1)
    assert not site.dashboard.commands.running()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "column"), [("text", "job"), ("scenes", "change"), ("pictures", "")])
def test_other_media_are_shown_and_asked(browser, tmp_path, kind, column):
    """The demo of a medium: its pages, its findings as pairs, and a what-if that shows what the model is shown."""
    from evenhand.engine import witness
    from evenhand.report import write
    from evenhand.verbs.demo import demo

    made = demo(kind, tmp_path / kind, candidates=60)
    for kept in made.result.witnesses:
        witness.save(kept, made.folder / "runs" / "witnesses")
    write(made.result.as_dict(), made.folder / "result.json")
    with served(tmp_path) as site:
        enter(browser, site)
        for path in pages_of(site):
            if "/as/" not in path:
                look(browser, site, path)
        project = site.dashboard.catalogue.projects()[0]
        browser.open(f"{site.address}/what-if?project={project.id}")
        browser.until("!!document.getElementById('answers')", 60)
        shown = "document.querySelector('.twin-list').innerHTML"
        before = browser.run(shown)
        assert ("<q>" if kind == "text" else "<img") in before
        browser.tab_to(f"['SELECT', 'INPUT'].includes(it.tagName) && it.labels?.[0]?.innerText.startsWith({column!r})")
        browser.press(
            "ArrowDown" if browser.run("document.activeElement.tagName == 'SELECT' || document.activeElement.type == 'range'") else "1"
        )
        browser.press("Tab")
        assert browser.until(f"{shown} != {before!r} && {shown}", 60) != before
        assert browser.errors == []
        browser.open("about:blank")
