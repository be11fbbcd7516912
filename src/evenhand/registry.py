"""Everything that has a name: methods and oracles, found in their folders and in other packages' entry points.

A new file in `methods/` is registered by being there: its name is the file's, its class the frozen dataclass in it that searches.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from evenhand.contract import Method, Oracle
from evenhand.errors import InvalidArgument, MethodError, UnknownName


@dataclass(frozen=True)
class Entry:
    """One registered class."""

    name: str
    make: Callable[..., Any]
    module: str

    @property
    def summary(self) -> str:
        """The first sentence of the module's docstring."""
        text = inspect.getdoc(importlib.import_module(self.module)) or ""
        return " ".join(text.split("\n\n")[0].split())

    @property
    def paper(self) -> str:
        """The line of the docstring that names the paper."""
        text = inspect.getdoc(importlib.import_module(self.module)) or ""
        paragraph = next((p for p in text.split("\n\n") if p.startswith("Paper:")), "")
        return " ".join(paragraph.removeprefix("Paper:").split())

    @property
    def parameters(self) -> dict[str, Any]:
        """Names and default values."""
        made = self.make()
        return {field.name: getattr(made, field.name) for field in fields(made)}

    def with_parameters(self, given: Mapping[str, Any]) -> Any:
        """An instance with some parameters changed; an unknown one is named."""
        known = self.parameters
        for name in given:
            if name not in known:
                raise UnknownName(f"parameter of {self.name}", name, known)
        converted = {name: _like(name, value, known[name]) for name, value in given.items()}
        return self.make(**converted)


def entries() -> dict[str, Entry]:
    """Every search method, by name."""
    return _found("methods", "search")


def oracles() -> dict[str, Entry]:
    """Every oracle, by name: `label_flip` for the class LabelFlip."""
    return _found("oracles", "judge")


def method(name: str, **parameters: Any) -> Method:
    """The method of this name, with some parameters changed."""
    known = entries()
    if name not in known:
        raise UnknownName("method", name, known)
    made: Method = known[name].with_parameters(parameters)
    return made


def oracle(name: str) -> Oracle:
    """The oracle of this name; a threshold may follow, as in `score_gap=0.2`."""
    stem, _, threshold = name.partition("=")
    known = oracles()
    if stem not in known:
        raise UnknownName("oracle", stem, known)
    made: Oracle = known[stem].with_parameters({"threshold": threshold} if threshold else {})
    return made


def repairs() -> dict[str, Entry]:
    """Every way to mend a model, by name."""
    return _found("repairs", "mend")


@cache
def _found(package: str, verb: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for module in _modules(package):
        stem = module.__name__.rsplit(".", 1)[-1]
        classes = _classes(module, verb)
        if package == "methods":
            if len(classes) != 1:
                raise MethodError(f"methods/{stem}.py must define one frozen dataclass with needs and search, it defines {len(classes)}")
            found[stem] = Entry(stem, classes[0], module.__name__)
        else:
            found |= {_snake(c.__name__): Entry(_snake(c.__name__), c, module.__name__) for c in classes}
    for point in entry_points(group=f"evenhand.{package}"):
        made = point.load()
        found[point.name] = Entry(point.name, made, made.__module__)
    return dict(sorted(found.items()))


def _modules(package: str) -> list[ModuleType]:
    home = importlib.import_module(f"evenhand.{package}")
    names = [info.name for info in pkgutil.iter_modules(home.__path__) if not info.ispkg]
    return [importlib.import_module(f"{home.__name__}.{name}") for name in names]


def _classes(module: ModuleType, verb: str) -> list[type]:
    own = [thing for thing in vars(module).values() if inspect.isclass(thing) and thing.__module__ == module.__name__]
    return [c for c in own if is_dataclass(c) and callable(getattr(c, verb, None)) and (verb != "search" or hasattr(c, "needs"))]


def _like(name: str, value: Any, default: Any) -> Any:
    """A parameter given as text, in the type of its default."""
    if not isinstance(value, str) or isinstance(default, str) or default is None:
        return value
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[value.lower()]
        return type(default)(value)
    except (KeyError, ValueError, TypeError):
        raise InvalidArgument(f"{name}={value!r} must be of the kind of its default {default!r}") from None


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
