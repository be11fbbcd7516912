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
    count: int = typer.Option(36, min=1, help="How many streets are drawn for it."),
    seed: int = typer.Option(0, min=0, help="Seed of everything random."),
    port: int = typer.Option(8765, min=0, help="Port on this computer; 0 for any free one."),
) -> None:
    """Serve a study of how believable changed pictures are, on this computer; every participant's answers become a file."""
    from evenhand.verbs.study import serve, street_slides

    server = serve(street_slides(count, seed), folder, port)
    out.print(f"the study is at {server.address} (stop with Ctrl-C)", highlight=False, soft_wrap=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


def study_result(folder: Path = typer.Argument(..., help="Where the answers are."), seed: int = typer.Option(0, min=0)) -> None:
    """The statistics of a study, from the answers in its folder."""
    from evenhand.verbs.study import analyse, read_key, read_sheets

    deck = read_key(folder)
    result = analyse(deck, read_sheets(folder, deck), np.random.default_rng(seed))
    lines = [f"{result.valid} of {result.sheets} answer sheets are valid"]
    for name, means in (("realism", result.realism), ("likelihood", result.likelihood)):
        lines.append(f"{name}: " + ", ".join(f"{kind} {value:.2f}" for kind, value in sorted(means.items())))
    if result.test is not None:
        lines.append(
            f"changed pictures are {result.realism_of_real:.1%} as realistic as real ones "
            f"(Mann-Whitney p = {result.test.p_value:.3g}), and {result.likelihood_of_real:.1%} as likely to occur"
        )
    out.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
