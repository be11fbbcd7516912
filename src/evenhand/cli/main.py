"""The `evenhand` command: mounts every subcommand and turns errors into messages and exit codes."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import typer

import evenhand
from evenhand import cli
from evenhand.cli.output import INTERNAL, INTERRUPTED, USAGE, err, exit_code, tell_choices
from evenhand.cli.single_values import hear_every_option
from evenhand.engine.header import COMMAND, command_line
from evenhand.errors import EvenhandError

# typer may carry its own copy of click, whose base of all usage errors is reached in either case through this one.
UsageFault: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def build(asked: str = "") -> typer.Typer:
    """The whole command: every module here that offers `register(app)` adds its own, so that a new command is one file.

    Where the command that is asked for is known, its own file is loaded alone, and none for the version: what the others need is no
    concern of it.
    """
    app = typer.Typer(
        name="evenhand",
        help="Finds where a model treats people differently, proves it with pairs, and says how often.",
        add_completion=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        epilog="Exit codes: 0 pass, 1 violation, 2 usage, 3 inconclusive, 4 model failed, 5 internal error, 130 interrupted (resumable).",
    )
    app.callback(invoke_without_command=True)(root)
    names = [info.name for info in pkgutil.iter_modules(cli.__path__)]
    own = f"{asked}_command"
    for name in [] if asked == "--version" else [own] if own in names else names:
        module = importlib.import_module(f"{cli.__name__}.{name}")
        if hasattr(module, "register"):
            module.register(app)
    hear_every_option(app)
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
            COMMAND.set(command_line())
            code = build(next(iter(sys.argv[1:]), ""))(standalone_mode=False)
    except EvenhandError as fault:
        err.print(f"[bold red]error:[/] {_escaped(str(fault))}", soft_wrap=True)
        tell_choices(fault)
        code = exit_code(fault)
    except UsageFault as fault:
        fault.show()
        code = USAGE
    except (KeyboardInterrupt, typer.Abort):
        err.print("interrupted")
        code = INTERRUPTED
    except Exception as fault:  # a mistake of Evenhand's own: never the exit code of a verdict
        err.print(f"internal error: {_one_line(fault)}; the traceback is in {_traceback_file(fault)}", markup=False, soft_wrap=True)
        code = INTERNAL
    sys.exit(code if isinstance(code, int) else 0)


def _one_line(fault: Exception) -> str:
    return " ".join(f"{type(fault).__name__}: {fault}".split())[:300]


def _traceback_file(fault: Exception) -> Path:
    """A file of its own with the traceback and what it happened to."""
    handle, name = tempfile.mkstemp(prefix="evenhand-error-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"evenhand {evenhand.__version__}, Python {sys.version}\n{command_line()}\n\n")
        file.writelines(traceback.format_exception(fault))
    return Path(name)


def _tell(message: Warning | str, *_: object) -> None:
    """A warning as one plain line, without the place in the source that it comes from."""
    err.print(f"[yellow]note:[/] {_escaped(str(message))}", soft_wrap=True, highlight=False)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
