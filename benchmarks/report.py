"""What reports cost and stand: `python benchmarks/report.py --quick --json FILE`.

report_cpu_s_100k     CPU-seconds of the page of a result of 100,000 pairs
report_mb             size of that page in megabytes
formats_by_verb       share of verb x format x medium cells that render and parse, with --quick too
format_cells          how many cells that are: a verb that refuses a medium in words has none there
hostile_payloads_run  attacks that did anything in Chromium, over the pages of every verb on every medium; None without Chromium
page_ms_max_1000_runs     the slowest page of a dashboard over 1,000 runs: milliseconds to the first byte, the median of three, every time
                          with nothing of the page kept and the whole store walked through
findings_page_ms_million  the slowest page of the findings of a search with a million of them, sorted and filtered, asked for the first time
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evenhand import report
from parts import dashboard_store
from parts.common import cpu, options, write_figures
from parts.report_grid import CHROMIUM, cells, chromium, formats_by_verb, many_findings, poisoned


def hostile_payloads_run(folder: Path) -> int | None:
    """Pages of every verb and medium with attacks in every text, opened in Chromium: those whose title, scripts or requests one changed."""
    if CHROMIUM is None:
        return None
    ran = 0
    with chromium(folder / "profile") as browser:
        for name, content in cells():
            page = report.write(poisoned(content), folder / f"{name}.html")
            browser.errors.clear()
            browser.asked.clear()
            browser.open(page.as_uri())
            outside = [each for each in browser.asked if not each.startswith(("data:", page.as_uri()))]
            ran += bool(browser.run(RAN) or browser.errors or outside)
    return ran


RAN = """document.title.startsWith('owned') || document.querySelectorAll('script').length
    || [...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on')))"""
"""What is true of a page on which an attack ran, or could."""


def main() -> None:
    """Measure and write."""
    chosen = options(__doc__ or "")
    many = many_findings(100_000)
    seconds, page = cpu(lambda: report.render(many))
    figures: dict[str, Any] = {"report_cpu_s_100k": round(seconds, 2), "report_mb": round(len(page.encode()) / 1e6, 2)}
    figures |= formats_by_verb()
    with TemporaryDirectory() as folder:
        figures["hostile_payloads_run"] = hostile_payloads_run(Path(folder))
    with TemporaryDirectory() as folder:
        figures |= dashboard_store.figures(Path(folder))
    write_figures(figures, chosen.json)


if __name__ == "__main__":
    main()
