"""The report in a real browser: nothing of a hostile result runs, nothing is asked from outside, and it fits a desk and a phone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.report import html

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import results

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --hide-scrollbars"
).split()

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]


def browse(page: Path, *flags: str) -> str:
    """What Chromium prints for a page, opened from its file."""
    assert CHROMIUM is not None
    profile = page.parent / f"profile-{page.stem}"
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--timeout=8000", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_hostile_result_runs_nothing_and_asks_nothing(tmp_path: Path) -> None:
    page = html.write(results.hostile(), tmp_path / "hostile.html")
    network = tmp_path / "network.json"
    dom = browse(page, f"--log-net-log={network}", "--dump-dom")
    assert re.search("<title>(.*?)</title>", dom, flags=re.DOTALL).group(1).startswith("Violation: &lt;script&gt;")  # type: ignore[union-attr]
    assert "<script" not in dom
    assert not re.search(r"<[^>]*\son[a-z]+=", re.sub(r'"[^"]*"', '""', dom))
    asked = {event["params"]["url"] for event in json.loads(network.read_text())["events"] if "url" in event.get("params", {})}
    assert not [url for url in asked if not url.startswith(("file:", "data:", "chrome", "devtools"))], asked


def test_guard_itself_can_fail(tmp_path: Path) -> None:
    """The same look at a page that lets a script through sees it: the test above is not blind."""
    page = tmp_path / "open.html"
    page.write_text(f"<!doctype html><title>closed</title>{results.SCRIPT}")
    assert "<title>owned</title>" in browse(page, "--dump-dom")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("case", ["ordinary", "hostile", "wide"])
def test_page_is_never_wider_than_the_screen(width: int, case: str, tmp_path: Path) -> None:
    result = {"ordinary": results.ordinary, "hostile": results.hostile, "wide": results.wide}[case]()
    html.write(result, tmp_path / "report.html")
    frame = tmp_path / "frame.html"
    # A window cannot be as narrow as a phone, a frame can; only the frame's own page may be read, so it is let through as same-origin.
    frame.write_text(
        f"<!doctype html><iframe src=report.html style='width:{width}px;height:800px;border:0'></iframe><p id=seen></p><script>onload=()=>{{"
        "const page=document.querySelector('iframe').contentDocument;"
        "document.querySelector('#seen').textContent=page.documentElement.scrollWidth+' of '+page.documentElement.clientWidth}</script>"
    )
    dom = browse(frame, "--allow-file-access-from-files", "--window-size=1400,900", "--dump-dom")
    assert f'<p id="seen">{width} of {width}</p>' in dom


def test_style_is_applied_under_the_pages_own_policy(tmp_path: Path) -> None:
    """The policy admits the one style sheet by its digest: a wrong digest would leave the page bare."""
    page = html.write(results.ordinary(), tmp_path / "report.html")
    styled, bare = tmp_path / "styled.png", tmp_path / "bare.png"
    browse(page, f"--screenshot={styled}", "--window-size=1280,900")
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(page.read_text(encoding="utf-8").replace("sha256-", "sha256-A"), encoding="utf-8")
    browse(spoilt, f"--screenshot={bare}", "--window-size=1280,900")
    assert styled.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert styled.read_bytes() != bare.read_bytes()
