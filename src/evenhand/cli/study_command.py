"""`evenhand study` and `evenhand study-result`: people mark how believable changed pictures are, and what they said is summed up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import typer

from evenhand.cli.output import out


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("study")(study)
    app.command("study-result")(study_result)


def study(
    folder: Path = typer.Argument(..., help="Where the answers go."),
    project: Path | None = typer.Option(None, "--project", help="The project file of your own scenes; drawn streets without."),
    count: int = typer.Option(36, min=1, help="How many streets are drawn for it."),
    seed: int = typer.Option(0, min=0, help="Seed of the choice of pictures."),
    port: int = typer.Option(8765, min=0, help="Port on this computer; 0 for any free one."),
) -> None:
    """Serve a study of how believable changed pictures are, on this computer; every participant's answers become a file."""
    from evenhand.verbs.study import CountQuestion, project_scenes, scene_slides, serve, street_slides

    if project is None:
        deck, question = street_slides(count, seed), CountQuestion()
    else:
        medium = project_scenes(project)
        question = CountQuestion.about(medium)
        deck = scene_slides(medium, seed, question.classes)
    server = serve(deck, folder, port, question)
    out.print(f"{len(deck)} pictures; the study is at {server.address} (stop with Ctrl-C)", highlight=False, soft_wrap=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


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
