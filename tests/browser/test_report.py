"""The report in a real browser: nothing of a hostile result runs, nothing is asked from outside, and it fits a desk and a phone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand import report

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import sample_results as results

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]


def browse(page: Path, *flags: str) -> str:
    """What Chromium prints for a page, opened from its file."""
    assert CHROMIUM is not None
    profile = page.parent / f"profile-{page.stem}"
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--timeout=8000", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def look(page: Path) -> tuple[str, set[str]]:
    """The page after it was opened, and the addresses that it asked for; what the browser asks for itself has no origin."""
    network = page.with_suffix(".network.json")
    dom = browse(page, f"--log-net-log={network}", "--dump-dom")
    asked = [event["params"] for event in json.loads(network.read_text())["events"] if "url" in event.get("params", {})]
    by_page = {params["url"] for params in asked if params.get("initiator", "not an origin") != "not an origin"}
    return dom, {url for url in by_page if not url.startswith("data:")}


def test_hostile_result_runs_nothing_and_asks_nothing(tmp_path: Path) -> None:
    dom, asked = look(report.write(results.hostile(), tmp_path / "hostile.html"))
    title = re.search("<title>(.*?)</title>", dom, flags=re.DOTALL)
    assert title is not None
    assert title.group(1).startswith("Violation: &lt;script&gt;")
    assert "<script" not in dom
    assert not re.search(r"<[^>]*\son[a-z]+=", re.sub(r'"[^"]*"', '""', dom))
    assert asked == set()


def test_look_sees_a_script_and_a_request(tmp_path: Path) -> None:
    """The same look at a page that lets both through, so that the test above is known not to be blind."""
    page = tmp_path / "open.html"
    page.write_text(f"<!doctype html><title>closed</title><img src=http://127.0.0.1:9/picture.png>{results.SCRIPT}")
    dom, asked = look(page)
    assert "<title>owned</title>" in dom
    assert asked == {"http://127.0.0.1:9/picture.png"}


def test_page_is_never_wider_than_the_screen(tmp_path: Path) -> None:
    cases = {"ordinary": results.ordinary(), "hostile": results.hostile(), "wide": results.wide()}
    frames = []
    for name, result in cases.items():
        report.write(result, tmp_path / f"{name}.html")
        frames += [f"<iframe src={name}.html style='width:{width}px;height:800px;border:0'></iframe>" for width in (390, 1280)]
    # A window cannot be as narrow as a phone, a frame can.
    look = "[...document.querySelectorAll('iframe')].map(f=>f.contentDocument.documentElement).map(e=>e.scrollWidth+' of '+e.clientWidth)"
    script = f"<p id=seen></p><script>onload=()=>{{document.querySelector('#seen').textContent={look}.join('; ')}}</script>"
    page = tmp_path / "frames.html"
    page.write_text("<!doctype html>" + "".join(frames) + script)
    dom = browse(page, "--allow-file-access-from-files", "--window-size=1400,900", "--dump-dom")
    seen = re.findall(r"(\d+) of (\d+)", dom.split('<p id="seen">')[1].split("</p>")[0])
    assert seen == [("390", "390"), ("1280", "1280")] * len(cases)


def test_style_is_applied_under_the_pages_own_policy(tmp_path: Path) -> None:
    """The policy admits the one style sheet by its digest: a wrong digest would leave the page bare."""
    page = report.write(results.ordinary(), tmp_path / "report.html")
    styled, bare = tmp_path / "styled.png", tmp_path / "bare.png"
    browse(page, f"--screenshot={styled}", "--window-size=1280,900")
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(page.read_text(encoding="utf-8").replace("sha256-", "sha256-A"), encoding="utf-8")
    browse(spoilt, f"--screenshot={bare}", "--window-size=1280,900")
    assert styled.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert styled.read_bytes() != bare.read_bytes()
