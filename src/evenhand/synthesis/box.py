"""A box in a domain: allowed values of some categories and intervals of some numbers, such as one path of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.parser import quote_name, quote_value
from evenhand.domain.tabular import TabularDomain


@dataclass(frozen=True)
class Box:
    """Columns by place; those that are not named are free."""

    values: Mapping[int, Mask] = field(default_factory=dict)  # category -> which values are allowed
    intervals: Mapping[int, tuple[float, float]] = field(default_factory=dict)  # number -> closed interval

    def contains(self, rows: Rows) -> Mask:
        """Which rows lie inside; a missing cell of a named column does not."""
        fine = np.ones(len(rows), dtype=bool)
        for place, allowed in self.values.items():
            codes = rows[:, place]
            known = ~np.isnan(codes)
            fine &= known
            fine[known] &= np.asarray(allowed)[codes[known].astype(np.intp)]
        for place, (low, high) in self.intervals.items():
            with np.errstate(invalid="ignore"):
                fine &= (rows[:, place] >= low) & (rows[:, place] <= high)
        return fine

    @property
    def is_empty(self) -> bool:
        """Whether no row can lie inside."""
        return any(not np.any(allowed) for allowed in self.values.values()) or any(low > high for low, high in self.intervals.values())

    def with_values(self, place: int, allowed: Mask) -> Box:
        """The box cut to some values of a category."""
        held = self.values.get(place)
        return replace(self, values={**self.values, place: allowed if held is None else held & allowed})

    def with_interval(self, place: int, low: float, high: float) -> Box:
        """The box cut to an interval of a number."""
        held = self.intervals.get(place, (-np.inf, np.inf))
        return replace(self, intervals={**self.intervals, place: (max(held[0], low), min(held[1], high))})

    def domain(self, domain: TabularDomain) -> TabularDomain:
        """A domain with constraints, with those besides that rows lie in the box; one without any stays as it is."""
        if not domain.constraints:
            return domain
        rules = compile_constraints(self.rules(domain), domain.columns)
        return replace(domain, constraints=(*domain.constraints, *rules))

    def rules(self, domain: TabularDomain) -> list[str]:
        """The box as rules of the language."""
        return [rule for place in self._places for rule in self._rules(place, domain)]

    @property
    def _places(self) -> list[int]:
        return sorted({*self.values, *self.intervals})

    def _rules(self, place: int, domain: TabularDomain) -> list[str]:
        column = domain.columns[place]
        name = quote_name(column.name)
        rules = [f"{name} is not missing"] if column.missing > 0 else []
        if place in self.values:
            listed = [quote_value(value) for value, is_in in zip(column.values, self.values[place], strict=False) if is_in]
            return [*rules, f"{name} in [{', '.join(listed)}]"]
        low, high = self.intervals[place]
        rules += [f"{name} >= {low!r}"] if low > column.lowest else []
        return rules + ([f"{name} <= {high!r}"] if high < column.highest else [])

    def text(self, domain: TabularDomain) -> str:
        """The box in words."""
        parts = []
        for place, allowed in self.values.items():
            column = domain.columns[place]
            chosen = [str(value) for value, is_in in zip(column.values, allowed, strict=False) if is_in]
            excluded = len(column.values) - len(chosen)
            if len(chosen) == 1:
                parts.append(f"{column.name} = {chosen[0]}")
            elif excluded == 1:
                gone = next(str(v) for v, is_in in zip(column.values, allowed, strict=False) if not is_in)
                parts.append(f"{column.name} != {gone}")
            else:
                parts.append(f"{column.name} in [{', '.join(chosen)}]")
        for place, (low, high) in self.intervals.items():
            name = domain.names[place]
            if np.isinf(low):
                parts.append(f"{name} <= {high:g}")
            else:
                parts.append(f"{name} >= {low:g}" if np.isinf(high) else f"{low:g} <= {name} <= {high:g}")
        return " and ".join(parts) or "everything"
