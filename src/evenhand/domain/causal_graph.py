"""Which columns follow from which: a user's causal graph, from Python or YAML, and what descends from the protected columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DomainError, UnknownName


@dataclass(frozen=True)
class CausalGraph:
    """For every column that has causes among the others, the names of its causes.

    >>> CausalGraph.of({"hours": ["sex"]}).parents
    {'hours': ('sex',)}
    """

    parents: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, parents: Mapping[str, Sequence[str] | str]) -> CausalGraph:
        """From a mapping of each column to its causes: `{"income": ["sex", "education"]}`."""
        return cls({str(name): (causes,) if isinstance(causes, str) else tuple(str(c) for c in causes) for name, causes in parents.items()})

    @classmethod
    def read(cls, text: str) -> CausalGraph:
        """From one line such as `income<-sex+education; savings<-income`, or from a YAML file of this name."""
        if "<-" not in text:
            return cls.load(text)
        sides = [part.split("<-") for part in text.split(";") if part.strip()]
        if any(len(side) != 2 or not all(each.strip() for each in side) for side in sides):
            raise DomainError(f"the causal graph {text!r} cannot be read; expected `effect<-cause+cause; effect<-cause`")
        return cls.of({effect.strip(): [cause.strip() for cause in causes.split("+")] for effect, causes in sides})

    def __str__(self) -> str:
        """The line that `read` takes."""
        return "; ".join(f"{name}<-{'+'.join(causes)}" for name, causes in self.parents.items())

    @classmethod
    def load(cls, path: str | Path) -> CausalGraph:
        """From a YAML file: one line `column: [cause, cause]` for every column that has causes."""
        import yaml

        path = Path(path)
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as fault:
            raise DomainError(f"the causal graph cannot be read: {fault.strerror or fault}", file=str(path)) from fault
        except yaml.YAMLError as fault:
            raise DomainError(f"the causal graph is not readable as YAML: {fault}", file=str(path)) from fault
        if not isinstance(content, dict) or not all(isinstance(causes, list | str) for causes in content.values()):
            raise DomainError("a causal graph lists the causes of each column, as in `income: [sex, education]`", file=str(path))
        return cls.of(content)

    def descendants(self, domain: TabularDomain) -> tuple[str, ...]:
        """The columns that the protected ones lead to, causes before effects; an unknown name or a circle is named."""
        self._check(domain)
        done: dict[str, None] = {}
        for name in domain.names:
            self._visit(name, (), done)
        reached = set(domain.protected)
        found = []
        for name in done:
            if name not in domain.protected and reached.intersection(self.parents.get(name, ())):
                reached.add(name)
                found.append(name)
        return tuple(found)

    def _check(self, domain: TabularDomain) -> None:
        for name, causes in self.parents.items():
            for each in (name, *causes):
                if each not in domain.names:
                    raise UnknownName("column of the causal graph", each, domain.names)
            if name in domain.protected and causes:
                raise DomainError(f"the causal graph gives causes to the protected column {name!r}; it is what is changed, so it has none")

    def _visit(self, name: str, way: tuple[str, ...], done: dict[str, None]) -> None:
        if name in way:
            raise DomainError(f"the causal graph goes round in a circle: {' <- '.join([*way[way.index(name) :], name])}")
        if name in done:
            return
        for cause in self.parents.get(name, ()):
            self._visit(cause, (*way, name), done)
        done[name] = None
