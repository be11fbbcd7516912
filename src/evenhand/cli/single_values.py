"""A command whose options are heard: one that takes a single value and is given two is refused, instead of the last one winning unseen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand


class SingleValueCommand(TyperCommand):
    """Every subcommand of `evenhand`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Words as options and arguments, once no option contradicts itself."""
        if not ctx.resilient_parsing:
            _refuse_repeated(self.make_parser(ctx).parse_args(args=list(args))[2])
        return super().parse_args(ctx, args)


def _refuse_repeated(order: list[Any]) -> None:
    given = Counter(param.name for param in order)
    for param in order:
        is_single = param.param_type_name == "option" and not param.multiple and not param.is_flag and not param.count
        if is_single and given[param.name] > 1:
            raise typer.BadParameter(f"{param.opts[0]} takes one value and was given {given[param.name]} times; keep one of them")


def hear_every_option(app: typer.Typer) -> None:
    """Make this the rule of an app's commands and of its groups' commands."""
    for command in app.registered_commands:
        command.cls = SingleValueCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            hear_every_option(group.typer_instance)
