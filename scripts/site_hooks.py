"""What the site is given while it is built: the pages of all methods, the reference of the public names and of the commands."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import typer
import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

import evenhand as eh
from evenhand.cli.main import build

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "papers"))

from inventory import ITEMS, NOTES, TITLES, WrittenPage, coverage_page, written_pages  # noqa: E402

GROUPS = {
    "Data and models": ("open", "wrap", "infer", "datasets", "planted", "TabularDomain", "Column", "Label", "Comparison", "Implied"),
    "Verbs": ("scan", "measure", "certify", "repair", "synth", "bench", "compare", "doctor", "gate", "replay"),
    "What verbs are told": ("Budget", "Options", "MeasureOptions", "RepairOptions", "SynthOptions", "BenchOptions", "CompareOptions"),
    "Verdicts": ("Gate", "Policy", "GroupLimit", "Waiver", "GateOptions", "ProofLimits"),
}  # fmt: skip
REST = "More"
FETCHED = "https://unpkg.com/iframe-worker/shim"
"""What the theme would load from elsewhere."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Every method stands below Methods, every redone table and figure below Papers."""
    names = sorted(page.stem for page in (ROOT / "docs" / "methods").glob("*.md") if page.stem != "index")
    chapter_of(config, "Methods").extend({name: f"methods/{name}.md"} for name in names)
    written = written_items()
    chapter_of(config, "Papers").extend(
        {title: [{item.name.replace("-", " "): f"papers/{item.stem}.md"} for item in ITEMS if item.paper == paper and item.stem in written]}
        for paper, title in TITLES.items()
        if any(item.paper == paper and item.stem in written for item in ITEMS)
    )
    chapter_of(config, "Papers").insert(
        1, {"What the field should know": [{note.title: f"papers/{note.stem}.md"} for note in NOTES if note.stem in written]}
    )
    return config


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001 - as mkdocs calls it
    """Nothing is fetched: what lets pages search from the disk comes with the site."""
    return output.replace(FETCHED, get_relative_url("assets/offline-search.js", page.url))


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:  # noqa: ARG001 - as mkdocs calls it
    """The same for the page of what is not found."""
    return output_content.replace(FETCHED, "/assets/offline-search.js")


def chapter_of(config: MkDocsConfig, title: str) -> list[Any]:
    """What stands below a title of the navigation."""
    found: list[Any] = next(entry[title] for entry in config.nav or [] if title in entry)
    return found


def written_items() -> dict[str, WrittenPage]:
    """The pages of redone tables and figures that there are."""
    return written_pages(ROOT / "docs" / "papers")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages that are written from the code."""
    for name, text in {
        "reference/python.md": python_page(),
        "reference/commands.md": commands_page(),
        "papers.md": coverage_page(written_items()),
        "reference/tables.md": tables_page(),
    }.items():
        files.append(File.generated(config, name, content=text))
    return files


def python_page() -> str:
    """Every public name below a heading of its kind."""
    grouped = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, REST: tuple(name for name in eh.__all__ if name not in grouped)}
    body = "\n\n".join(f"## {title}\n\n" + "\n\n".join(map(entry, names)) for title, names in groups.items())
    return f"# Python\n\n`import evenhand as eh`; every name below is `eh.NAME`, and every example is run by the tests.\n\n{body}\n"


def entry(name: str) -> str:
    """One public name, documented from where it is defined."""
    thing = getattr(eh, name)
    home = thing.__name__ if inspect.ismodule(thing) else f"{thing.__module__}.{name}"
    home = home if hasattr(thing, "__module__") or inspect.ismodule(thing) else f"evenhand.{name}"
    return f"::: {home}\n    options:\n      heading_level: 3"


def tables_page() -> str:
    """The embedded tables with their sources and terms, as the files beside them have it."""
    parts = []
    for name in eh.datasets.names():
        told = yaml.safe_load((ROOT / "src" / "evenhand" / "datasets" / "tables" / f"{name}.yaml").read_text(encoding="utf-8"))
        facts = "\n".join(
            f"- **{key.capitalize()}**: {text_of(str(told[key]))}" for key in ("rows", "source", "package", "licence", "citation")
        )
        parts.append(f"## {name}\n\n{text_of(told['title'])}\n\n{facts}\n\n{text_of(str(told.get('notes', '')))}")
    return "# Embedded tables\n\n`eh.open(NAME)` and `eh.datasets.load(NAME)` read them.\n\n" + "\n\n".join(parts) + "\n"


def commands_page() -> str:
    """Every command with its options, in the words of its help."""
    command: Any = typer.main.get_command(build())
    parts = [described(name, each) for name, each in sorted(command.commands.items())]
    return (
        "# Commands\n\nExit codes: 0 pass, 1 violation, 2 usage, 3 inconclusive, 4 model failed, 5 internal error, 130 interrupted.\n\n"
        + "\n\n".join(parts)
    )


def described(name: str, command: Any) -> str:
    """One command, or a group with its own commands."""
    if hasattr(command, "commands"):
        return "\n\n".join(described(f"{name} {inner}", each) for inner, each in sorted(command.commands.items()))
    rows = "\n".join(f"| {' '.join(f'`{flag}`' for flag in flags_of(each))} | {meaning_of(each)} |" for each in command.params)
    return f"## evenhand {name}\n\n{text_of(command.help)}\n\n| option | meaning |\n| --- | --- |\n{rows}"


def flags_of(parameter: Any) -> list[str]:
    """How it is written on the command line."""
    return [parameter.name.upper()] if parameter.param_type_name == "argument" else [*parameter.opts, *parameter.secondary_opts]


def meaning_of(parameter: Any) -> str:
    """Its help, and its default where that says something."""
    default = parameter.default
    said = f" Default: `{default}`." if isinstance(default, str | int | float) and not isinstance(default, bool) and default != "" else ""
    return text_of(getattr(parameter, "help", "")) + said


def text_of(words: str | None) -> str:
    """In one line, and harmless in a table."""
    return " ".join((words or "").split()).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")
