"""`evenhand study` and `evenhand study-result`: people mark how believable changed pictures are, and what they said is summed up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import typer

from evenhand.cli.flags import ModelFlags, Trusted
from evenhand.cli.output import out
from evenhand.cli.project import load_all
from evenhand.errors import InvalidArgument


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("study")(study)
    app.command("study-result")(study_result)


def study(
    folder: Path = typer.Argument(..., help="Where the answers go."),
    project: list[Path] = typer.Option(
        None, "--project", help="The project file of your own scenes; repeat for several data sets; drawn streets without."
    ),
    errors: bool = typer.Option(False, "--errors", help="Ask each project's recogniser which pictures make it err, and tell these apart."),
    trusted: Trusted = False,
    count: int = typer.Option(36, min=1, help="How many streets are drawn for it."),
    pairs: int = typer.Option(
        10, min=1, help="How many changed pictures of each operator and data set everybody marks, beside their originals."
    ),
    seed: int = typer.Option(0, min=0, help="Seed of the choice of pictures."),
    port: int = typer.Option(8765, min=0, help="Port on this computer; 0 for any free one."),
) -> None:
    """Serve a study of how believable changed pictures are, on this computer; every participant's answers become a file."""
    from evenhand.verbs.study import CountQuestion, joined, project_scenes, scene_slides, scenes_of, serve, street_slides

    if errors and not project:
        raise InvalidArgument("--errors needs a project, whose recogniser is asked; add --project evenhand.yaml")
    if not project:
        deck, question = street_slides(count, seed, pairs), CountQuestion()
    else:
        loaded = [load_all(file, ModelFlags(trusted=trusted)) if errors else None for file in project]
        media = [project_scenes(file) if one is None else scenes_of(one.data, file) for file, one in zip(project, loaded, strict=True)]
        models = [None if one is None else one.model for one in loaded]
        question = CountQuestion.about(*media)
        decks = [scene_slides(medium, seed, question.classes, model, pairs) for medium, model in zip(media, models, strict=True)]
        deck = joined(dict(zip(_names(project), decks, strict=True)), seed)
    server = serve(deck, folder, port, question)
    out.print(f"{len(deck)} pictures; the study is at {server.address} (stop with Ctrl-C)", highlight=False, soft_wrap=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


def _names(projects: Sequence[Path]) -> list[str]:
    """What the data sets are called: by their folders, and by a number where two share a name."""
    names = [file.resolve().parent.name or file.stem for file in projects]
    return [name if names.count(name) == 1 else f"{name} ({place + 1})" for place, name in enumerate(names)]


def study_result(
    folder: Path = typer.Argument(..., help="Where the answers are."),
    seed: int = typer.Option(0, min=0, help="Seed of the control pictures and of the intervals."),
    report: Path | None = typer.Option(None, "--report", help="Also write a page (.html) or the figures (.json) here."),
) -> None:
    """The statistics of a study, from the answers in its folder."""
    from evenhand.measures.believability import believability
    from evenhand.report.study_page import write_study
    from evenhand.verbs.study import read_key, read_sheets

    deck = read_key(folder)
    result = believability([one.judged for one in deck], read_sheets(folder, deck), np.random.default_rng(seed))
    out.print("\n".join(result.sentences), markup=False, highlight=False, soft_wrap=True)
    if report is not None:
        out.print(f"Report: {write_study(result, report)}", markup=False, highlight=False, soft_wrap=True)
