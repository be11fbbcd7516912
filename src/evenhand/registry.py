"""Everything that has a name: each package of plug-ins declares one `Registry`, which finds them in its files and in entry points.

A new file in such a package is registered by being there.  Its name is the file's; what it registers is the one class in it that
fulfils the package's contract, or the module itself where its functions do.  What several files share lives in a folder `parts/`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, Generic, TypeVar

from evenhand.errors import InvalidArgument, RegistryError, UnknownName

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Entry(Generic[Thing]):
    """One registered class, or one module that fulfils the contract itself."""

    name: str
    make: Callable[..., Thing]
    module: str

    @property
    def summary(self) -> str:
        """The first paragraph of the module's docstring."""
        return " ".join(self._docstring.split("\n\n")[0].split())

    @property
    def paper(self) -> str:
        """The paragraph of the docstring that names the paper."""
        paragraph = next((p for p in self._docstring.split("\n\n") if p.startswith("Paper:")), "")
        return " ".join(paragraph.removeprefix("Paper:").split())

    @property
    def _docstring(self) -> str:
        return inspect.getdoc(sys.modules[self.module]) or ""

    @property
    def parameters(self) -> dict[str, Any]:
        """Names and default values; a field without a default is left out."""
        if not is_dataclass(self.make):
            return {}
        defaults = {each.name: each.default for each in fields(self.make) if each.init and each.default is not MISSING}
        made = {each.name: each.default_factory() for each in fields(self.make) if each.init and each.default_factory is not MISSING}
        return {each.name: (defaults | made)[each.name] for each in fields(self.make) if each.name in defaults or each.name in made}

    def with_parameters(self, given: Mapping[str, Any]) -> Thing:
        """An instance with some parameters changed; an unknown one is named."""
        known = self.parameters
        for name in given:
            if name not in known:
                raise UnknownName(f"parameter of {self.name}", name, known)
        converted = {name: _like(name, value, known[name]) for name, value in given.items()}
        return self.make(**converted)


@dataclass(eq=False)
class Registry(Generic[Thing]):
    """The plug-ins of one kind.  A package declares it once: `METHODS: Registry[Method] = Registry("method", __name__, Method)`.

    kind: what a reader calls one of them, as in "unknown method 'adff'".
    package: the package whose files are searched; entry points of the group `evenhand.<its last name>` are added.
    contract: a Protocol; a class or module with all its members is a plug-in.
    strict: whether every file must hold exactly one; otherwise files without any are passed over.
    """

    kind: str
    package: str
    contract: type
    strict: bool = False

    def entries(self) -> dict[str, Entry[Thing]]:
        """Every plug-in that can be loaded, by name."""
        return self._found[0]

    def missing(self) -> dict[str, ImportError]:
        """Files that could not be imported, usually for want of an optional dependency, with the reason."""
        return self._found[1]

    def entry(self, name: str) -> Entry[Thing]:
        """The plug-in of this name; an unknown one is named, one whose dependency is missing says which."""
        if name in self.missing():
            raise self.missing()[name]
        if name not in self.entries():
            raise UnknownName(self.kind, name, self.entries())
        return self.entries()[name]

    def make(self, name: str, parameters: Mapping[str, Any] | None = None) -> Thing:
        """An instance of the plug-in of this name, with some parameters changed."""
        return self.entry(name).with_parameters(parameters or {})

    @cached_property
    def _found(self) -> tuple[dict[str, Entry[Thing]], dict[str, ImportError]]:
        found: dict[str, Entry[Thing]] = {}
        missing: dict[str, ImportError] = {}
        for info in pkgutil.iter_modules(sys.modules[self.package].__path__):
            if info.ispkg:
                continue
            try:
                found |= self._in_file(importlib.import_module(f"{self.package}.{info.name}"))
            except ImportError as fault:
                missing[info.name] = fault
        return dict(sorted((found | self._from_outside()).items())), missing

    def _in_file(self, module: ModuleType) -> dict[str, Entry[Thing]]:
        stem = module.__name__.rpartition(".")[2]
        own: list[Any] = [thing for thing in vars(module).values() if inspect.isclass(thing) and thing.__module__ == module.__name__]
        classes = [each for each in own if self._fulfils(each)]
        if self._fulfils(module):
            return {stem: Entry(stem, lambda: module, module.__name__)}  # type: ignore[arg-type, return-value]  # a module may implement a Protocol
        if len(classes) == 1:
            return {stem: Entry(stem, classes[0], module.__name__)}
        if self.strict:
            folder, members = self.package.rpartition(".")[2], " and ".join(_members(self.contract))
            raise RegistryError(f"{folder}/{stem}.py must define one frozen dataclass with {members}, it defines {len(classes)}")
        return {_snake(each.__name__): Entry(_snake(each.__name__), each, module.__name__) for each in classes}

    def _fulfils(self, thing: type | ModuleType) -> bool:
        if getattr(thing, "_is_protocol", False) or thing.__name__.startswith("_"):
            return False
        declared = {name for base in getattr(thing, "__mro__", ()) for name in vars(base).get("__annotations__", {})}
        return all(hasattr(thing, member) or member in declared for member in _members(self.contract))

    def _from_outside(self) -> dict[str, Entry[Thing]]:
        points = entry_points(group=f"evenhand.{self.package.rpartition('.')[2]}")
        loaded = {point.name: point.load() for point in points}
        return {name: Entry(name, made, made.__module__) for name, made in loaded.items()}


def _members(contract: type) -> list[str]:
    """Public names that a protocol and the protocols above it ask for."""
    bases = [base for base in contract.__mro__ if getattr(base, "_is_protocol", False)]
    names = [name for base in reversed(bases) for name in (*vars(base).get("__annotations__", {}), *vars(base))]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


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
