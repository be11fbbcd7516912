"""The `evenhand` command: mounts every subcommand and turns errors into messages and exit codes."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from typing import Any

import typer

import evenhand
from evenhand import cli
from evenhand.cli.output import INTERRUPTED, USAGE, err, exit_code
from evenhand.errors import EvenhandError

# typer may carry its own copy of click, whose base of all usage errors is reached in either case through this one.
UsageFault: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def build() -> typer.Typer:
    """The whole command: every module here that offers `register(app)` adds its own, so that a new command is one file."""
    app = typer.Typer(
        name="evenhand",
        help="Finds where a model treats people differently, proves it with pairs, and says how often.",
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        epilog="Exit codes: 0 pass, 1 violation, 2 usage, 3 inconclusive, 4 model failed, 130 interrupted (resumable).",
    )
    app.callback(invoke_without_command=True)(root)
    for info in pkgutil.iter_modules(cli.__path__):
        module = importlib.import_module(f"{cli.__name__}.{info.name}")
        if hasattr(module, "register"):
            module.register(app)
    return app


def root(context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Fairness testing for machine-learning models: find unfair treatment, prove it with pairs, say how often."""
    if version:
        typer.echo(f"evenhand {evenhand.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run one command."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _tell  # type: ignore[assignment]  # it needs no more than the message
            code = build()(standalone_mode=False)
    except EvenhandError as fault:
        err.print(f"[bold red]error:[/] {_escaped(str(fault))}", soft_wrap=True)
        code = exit_code(fault)
    except UsageFault as fault:
        fault.show()
        code = USAGE
    except (KeyboardInterrupt, typer.Abort):
        err.print("interrupted")
        code = INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)


def _tell(message: Warning | str, *_: object) -> None:
    """A warning as one plain line, without the place in the source that it comes from."""
    err.print(f"[yellow]note:[/] {_escaped(str(message))}", soft_wrap=True, highlight=False)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
