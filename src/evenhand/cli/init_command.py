"""`evenhand init`: from data to a project file that a person reads and corrects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from evenhand.cli.flags import Classes, ModelOutput, Preset, Returns, Threshold, Trusted, classes_of, threshold_of
from evenhand.cli.output import named_parameters, names_in, opening, out
from evenhand.cli.project import DEFAULT_FILE
from evenhand.errors import InvalidArgument


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    data: str = typer.Argument(
        ..., help="A table (CSV, Parquet, Arrow, duckdb:///FILE#TABLE, a database's URL#TABLE), a folder of pictures, templates of texts."
    ),
    label: str = typer.Option(None, help="The column or attribute that the model predicts."),
    favourable: str = typer.Option(None, help="The outcome that a person hopes for."),
    protected: list[str] = typer.Option(None, help="Protected columns or attributes, separated by commas or with the option repeated."),
    model: str = typer.Option(None, help="The model file or URL."),
    keep: list[str] = typer.Option(None, help="A column to keep although it looks useless; repeat for several."),
    numbers: list[str] = typer.Option(None, help="A column of few whole numbers that are counts, not codes; repeat for several."),
    returns: Returns = None,
    threshold: Threshold = None,
    classes: Classes = None,
    model_output: ModelOutput = None,
    preset: Preset = None,
    trusted: Trusted = False,
    tone: bool = typer.Option(False, "--tone", help="Pictures of aligned faces: read skin tones from the pixels, and protect them."),
    limit: int = typer.Option(None, "--limit", help="Pictures: at most so many, drawn by a seed and not by their names."),
    co_changed: bool = typer.Option(
        False, "--co-changed", help="Put into force what the data says changes along with a protected value (Husband, Wife)."
    ),
    settings: list[str] = typer.Option(
        None, "--set", help="NAME=VALUE: a setting of the data, as the legend of label maps (legend=cityscapes-ids); repeat for several."
    ),
    out_file: Path = typer.Option(DEFAULT_FILE, "--out", "-o", help="The project file to write."),
) -> None:
    """Look at data and write evenhand.yaml: columns or medium, ranges, protected candidates, constraints."""
    from evenhand.verbs import init as verb

    with opening():
        written = verb.init(
            data,
            label=label,
            favourable=favourable,
            protected=names_in(protected) or (),
            model=model,
            keep=keep or (),
            numbers=numbers or (),
            returns=returns,
            threshold=threshold_of(threshold) if threshold is not None else None,
            classes=classes_of(classes, ()) if classes is not None else None,
            output=model_output,
            preset=preset,
            trusted=trusted,
            file=out_file,
            tone=tone,
            limit=limit,
            co_changed=co_changed,
            settings=_read(named_parameters(settings or [])),
        )
    out.print(written.summary(), markup=False, highlight=False, soft_wrap=True)


def _read(given: dict[str, str]) -> dict[str, Any]:
    """Settings as the project file would say them: numbers are numbers, `[a, b]` is a list."""
    import yaml

    def read(name: str, text: str) -> Any:
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as fault:
            raise InvalidArgument(f"--set {name}={text!r} cannot be read as a value of a project file") from fault

    return {name: read(name, text) for name, text in given.items()}
