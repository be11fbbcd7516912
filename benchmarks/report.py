"""What reports cost and stand: `python benchmarks/report.py --quick --json FILE`.

report_cpu_s_100k     CPU-seconds of the page of a result of 100,000 pairs
report_mb             size of that page in megabytes
formats_by_verb       share of verb x format x medium cells that render and parse; --quick leaves pictures and scenes out
hostile_payloads_run  attacks that did anything in Chromium, over the pages of every verb; None where Chromium is not installed
page_ms_max_1000_runs     the slowest page of a dashboard over 1,000 runs: milliseconds to the first byte, the median of three, every time
                          with nothing of the page kept and the whole store walked through
findings_page_ms_million  the slowest page of the findings of a search with a million of them, sorted and filtered, asked for the first time
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evenhand import report
from parts import dashboard_store
from parts.common import cpu, options, write_figures
from parts.report_grid import ROOT, formats_by_verb, many_findings, of_verb, poisoned, verbs


def hostile_payloads_run(folder: Path) -> int | None:
    """Pages of every verb with attacks in every text, opened in Chromium: those whose title, scripts or requests an attack changed."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return None
    ran = 0
    for verb in verbs():
        page = report.write(poisoned(of_verb(verb)), folder / f"{verb}.html")
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder / 'profile'}",
            "--dump-dom",
            page.as_uri(),
        ]
        dom = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120).stdout
        ran += "<title>owned" in dom or "<script" in dom or not dom.rstrip().endswith("</html>")
    return ran


def main() -> None:
    """Measure and write."""
    chosen = options(__doc__ or "")
    many = many_findings(100_000)
    seconds, page = cpu(lambda: report.render(many))
    figures: dict[str, Any] = {"report_cpu_s_100k": round(seconds, 2), "report_mb": round(len(page.encode()) / 1e6, 2)}
    figures["formats_by_verb"] = formats_by_verb(with_media=not chosen.quick)
    with TemporaryDirectory() as folder:
        figures["hostile_payloads_run"] = hostile_payloads_run(Path(folder))
    with TemporaryDirectory() as folder:
        figures |= dashboard_store.figures(Path(folder))
    write_figures(figures, chosen.json)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
