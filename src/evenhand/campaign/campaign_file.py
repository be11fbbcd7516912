"""A campaign as a file: data x protected sets x models x methods x seeds x budgets, expanded into single runs.

```yaml
data: [adult, {file: loans.parquet, label: approved}, faces/evenhand.yaml]   # tables by name, files, projects of any medium
protected: [sex, "sex, race", "adult: age"]                                  # sets of columns; "TABLE: columns" for one table only
models: [forest, "models/*.skops"]                                           # of tables; a project has its own
methods: [evenhand, {themis: {batch: 500}}]
seeds: 3                                                                     # 0, 1, 2; or a list
budgets: [{candidates: 10000}]
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.campaign.arena_ground import POOL_ROWS
from evenhand.campaign.contest import ContestCell, Entrant, Terms
from evenhand.campaign.run_maker import RunOrder
from evenhand.campaign.sources import PROJECT_MODEL, Named
from evenhand.disk import read_utf8
from evenhand.domain.databases import is_database, seen_from
from evenhand.domain.yamltext import Document, read_yaml
from evenhand.errors import EvenhandError
from evenhand.limits import NotNegative, check_limits
from evenhand.models.budget import Budget

KEYS = (
    "data", "protected", "models", "methods", "seeds", "budgets", "oracle", "max_rate", "trusted", "judge_methods",
    "price_per_thousand_rows", "folder",
)  # fmt: skip
USUAL_BUDGET = Budget(candidates=10_000)


@dataclass(frozen=True)
class CampaignPlan:
    """What a campaign file says, expanded: every source, and every run in the order of sources, budgets, seeds, methods."""

    sources: tuple[Named, ...]
    orders: tuple[RunOrder, ...]
    folder: Path
    max_rate: float = 0.0
    price_per_thousand_rows: NotNegative = 0.0  # what asking the models costs, in whatever currency

    def __post_init__(self) -> None:
        check_limits(self)


def read_campaign(file: Path) -> CampaignPlan:
    """The plan in a campaign file; what is wrong is said with its line."""
    document = read_yaml(read_utf8(file), str(file))
    if not isinstance(document.value, dict):
        raise document.error(f"expected keys such as {', '.join(KEYS[:6])}", ())
    for name in document.value:
        if name not in KEYS:
            raise document.error(f"unknown key {name!r}; a campaign file has {', '.join(KEYS)}", (name,))
    return _Expansion(document, file.parent).plan(file)


@dataclass(frozen=True)
class _Expansion:
    """Reads the parts of a document; paths are taken from its folder."""

    document: Document
    base: Path

    def plan(self, file: Path) -> CampaignPlan:
        sources, cells, terms = self._sources(), self._cells(), self._terms()
        orders = [RunOrder(place, cell, each) for place in range(len(sources)) for each in terms for cell in cells]
        folder = self.base / str(self._value("folder", f"{file.stem}-runs"))
        price, most = self._number("price_per_thousand_rows"), self._number("max_rate")
        return CampaignPlan(tuple(sources), tuple(orders), folder, most, price)

    def _value(self, name: str, default: Any) -> Any:
        return self.document.value.get(name, default)

    def _number(self, name: str) -> float:
        value = self._value(name, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.document.error(f"{name}: {value!r} must be a number", (name,))
        return float(value)

    def _list(self, name: str, default: Sequence[Any] = ()) -> list[Any]:
        value = self._value(name, list(default))
        listed = value if isinstance(value, list) else [value]
        if not listed and not default:
            return []
        if not listed:
            raise self.document.error(f"{name}: expected at least one", (name,))
        return listed

    def _sources(self) -> list[Named]:
        """Every table with every protected set that is meant for it and every model; a project with the model that it names."""
        data = self._list("data")
        if not data:
            raise self.document.error("data: name at least one table, file or project", ("data",))
        tables = [self._table(each, place) for place, each in enumerate(data)]
        models = [name for text in self._list("models", ["forest"]) for name in self._model_names(str(text))]
        sources = []
        for table in tables:
            own = Path(table.dataset).suffix in (".yaml", ".yml")
            for columns in self._protected(table.dataset):
                sources += [_with(table, columns, name) for name in ([PROJECT_MODEL] if own else models)]
        return list(dict.fromkeys(sources))

    def _table(self, entry: Any, place: int) -> Named:
        told = entry if isinstance(entry, Mapping) else {"file": entry}
        if set(told) - {"file", "label", "coding"} or "file" not in told:
            raise self.document.error("a table is a name, a file, or {file: ..., label: ...}", ("data", place))
        name = str(told["file"])
        path = self.base / name
        named = seen_from(name, self.base) if is_database(name) else str(path) if path.suffix or path.exists() else name
        return Named(named, (), "", told.get("label"), str(told.get("coding", "readable")), self._value("trusted", False) is True)

    def _model_names(self, text: str) -> list[str]:
        """A pattern stands for every file that it matches, in the order of their names."""
        if "*" in text:
            found = sorted(str(path) for path in self.base.glob(text))
            if not found:
                raise self.document.error(f"models: no file matches {text!r}", ("models",))
            return found
        path = self.base / text
        return [str(path) if not text.startswith("http") and path.suffix and path.exists() else text]

    def _protected(self, dataset: str) -> list[tuple[str, ...]]:
        """The sets that are meant for a table; its own where none is."""
        sets = []
        for each in self._list("protected"):
            table, colon, columns = str(each).rpartition(":")
            if not colon or table.strip() in (dataset, Path(dataset).stem):
                sets.append(tuple(name.strip() for name in columns.split(",")))
        return sets or [()]

    def _cells(self) -> list[ContestCell]:
        seeds = self._value("seeds", 1)
        numbers = list(range(seeds)) if isinstance(seeds, int) and not isinstance(seeds, bool) else seeds
        if not isinstance(numbers, list) or not numbers or not all(isinstance(seed, int) and seed >= 0 for seed in numbers):
            raise self.document.error(f"seeds: {seeds!r} must be a whole number of at least 1, or a list of seeds", ("seeds",))
        entrants = [self._entrant(each, place) for place, each in enumerate(self._list("methods", ["evenhand"]))]
        return [ContestCell(entrant, seed) for seed in dict.fromkeys(numbers) for entrant in entrants]

    def _entrant(self, entry: Any, place: int) -> Entrant:
        ((name, changed),) = entry.items() if isinstance(entry, Mapping) and len(entry) == 1 else [(entry, {})]
        try:
            entrant = Entrant(str(name), tuple(dict(changed).items()))
            entrant.make()
        except (EvenhandError, ValueError, TypeError) as fault:
            raise self.document.error(f"methods: {fault}", ("methods", place)) from fault
        return entrant

    def _terms(self) -> list[Terms]:
        pool = POOL_ROWS if self._value("judge_methods", False) is True else 0
        given = self._value("budgets", None)
        budgets = [self._budget(each, place) for place, each in enumerate(self._list("budgets"))] if given else [USUAL_BUDGET]
        return [Terms(budget, self._value("oracle", None), pool_rows=pool) for budget in budgets]

    def _budget(self, entry: Any, place: int) -> Budget:
        try:
            return Budget(**entry)
        except (EvenhandError, TypeError) as fault:
            raise self.document.error(f"budgets: {fault}", ("budgets", place)) from fault


def _with(table: Named, columns: tuple[str, ...], model: str) -> Named:
    return Named(table.dataset, columns, model, table.label, table.coding, table.trusted)
