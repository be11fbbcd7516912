"""A user's wishes worked into a constraint graph (AITEST, Algorithm 2), and the domain that the wished rows live in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from evenhand.arrays import Reals
from evenhand.domain.columns import Column, Value
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError
from evenhand.synthesis import families
from evenhand.synthesis.families import NONE
from evenhand.synthesis.fitting import Fits
from evenhand.synthesis.graph import Edge, Graph, Scaling
from evenhand.synthesis.inference import JointTable
from evenhand.synthesis.wishes import Wish, Wishes


def wished_domain(domain: TabularDomain, wishes: Wishes) -> TabularDomain:
    """The domain with the user's ranges and rules; a factor moves both ends of a range."""
    columns = list(domain.columns)
    for wish in wishes.wishes:
        place = domain.place(wish.column)
        if wish.action != "delete" and not columns[place].is_listed:
            columns[place] = _wished_column(columns[place], wish)
    rules = compile_constraints(wishes.rules, columns)
    return replace(domain, columns=tuple(columns), constraints=(*domain.constraints, *rules))


def _wished_column(column: Column, wish: Wish) -> Column:
    low, high = column.lowest, column.highest
    if wish.range is not None:
        low, high = wish.range if not wish.source else (min(low, wish.range[0]), max(high, wish.range[1]))
    if wish.factor is not None:
        ends = (low * wish.factor, high * wish.factor)
        low, high = min(low, *ends), max(high, *ends)
    if column.is_integral:
        low, high = int(np.ceil(low)), int(np.floor(high))
        if low > high:
            raise ConstraintError(f"{wish.text}: there is no whole number in this range")
    return replace(column, low=low, high=high)


def steer(graph: Graph, wishes: Wishes, domain: TabularDomain) -> Graph:
    """Deletions first, then additions, then modifications; every wish leaves its column to the user alone."""
    for action in ("delete", "add", "modify"):
        for wish in wishes.wishes:
            if wish.action == action:
                graph = _STEPS[action](graph, wish, domain)
    return graph


def _delete(graph: Graph, wish: Wish, domain: TabularDomain) -> Graph:
    place = domain.place(wish.column)
    if wish.only_range:
        return replace(graph, unbounded=graph.unbounded | {place})
    if wish.source:
        source = domain.place(wish.source)
        return replace(graph, edges=tuple(e for e in graph.edges if {e.source, e.target} != {source, place}))
    edges = tuple(edge for edge in graph.edges if place not in (edge.source, edge.target))
    graph = replace(graph, edges=edges, dropped=graph.dropped | {place})
    column = domain.columns[place]
    if column.is_listed:
        shares = np.append(np.ones(len(column.values)), 0.0)
        return replace(graph, shares={**graph.shares, place: shares / shares.sum()})
    own = graph.numbers[place]
    free = replace(own, family=np.array([NONE]), low=np.array([column.lowest]), high=np.array([column.highest]), missing=np.zeros(1))
    return replace(graph, numbers={**graph.numbers, place: free})


def _set(graph: Graph, wish: Wish, domain: TabularDomain) -> Graph:
    """An addition or modification of a column's or an association's constraint."""
    if wish.source:
        return _set_association(graph, wish, domain)
    place = domain.place(wish.column)
    if wish.frequencies is not None:
        shares = _shares(domain.columns[place], wish.frequencies)
        graph = replace(graph.without_incoming(place), shares={**graph.shares, place: shares})
        return replace(graph, settled={**graph.settled, place: wish.text})
    if wish.distribution is not None:
        graph = _set_distribution(graph, wish, domain)
    if wish.range is not None and wish.distribution is None:
        graph = _rescale(graph, place, wish.range)
    return _set_factor(graph, place, wish.factor) if wish.factor is not None else graph


def _set_distribution(graph: Graph, wish: Wish, domain: TabularDomain) -> Graph:
    """The user's distribution inside the user's range (or the data's); the column becomes a leaf."""
    place = domain.place(wish.column)
    own = _fitted(graph.numbers[place], 0, wish, domain.columns[place])
    graph = graph.without_incoming(place)
    return replace(graph, numbers={**graph.numbers, place: own}, settled={**graph.settled, place: wish.text})


def _fitted(fits: Fits, group: int, wish: Wish, column: Column) -> Fits:
    assert wish.distribution is not None
    family, parameters = families.parse(wish.distribution)
    low, high = wish.range or (float(fits.low[group]), float(fits.high[group]))
    low, high = max(low, column.lowest), min(high, column.highest)
    changed = {name: getattr(fits, name).copy() for name in ("family", "parameters", "low", "high", "p_value", "count", "missing")}
    for name, value in (("family", family), ("parameters", parameters), ("low", low), ("high", high), ("p_value", 1.0)):
        changed[name][group] = value
    changed["count"][group] = max(changed["count"][group], 1.0)
    changed["missing"][group] = 0.0
    return replace(fits, **changed)


def _rescale(graph: Graph, place: int, wanted: tuple[float, float]) -> Graph:
    own = graph.numbers[place]
    scaling = Scaling((float(own.low[0]), float(own.high[0])), wanted)
    return replace(graph, scalings={**graph.scalings, place: scaling})


def _set_factor(graph: Graph, place: int, factor: float) -> Graph:
    own = graph.numbers[place]
    old = graph.scalings.get(place, Scaling(*([(float(own.low[0]), float(own.high[0]))] * 2)))
    low, high = old.new[0] * factor, old.new[1] * factor
    return replace(graph, scalings={**graph.scalings, place: Scaling(old.old, (min(low, high), max(low, high)))})


def _set_association(graph: Graph, wish: Wish, domain: TabularDomain) -> Graph:
    """The user's word on one value of a source; all other sources of the target are cut off."""
    source, place = domain.place(wish.source), domain.place(wish.column)
    code = int(domain.columns[source].code(wish.value))
    if place in graph.settled:
        rival = graph.settled[place]
        raise ConstraintError(f"these two contradict each other, as only one can decide {wish.column!r}: {rival}  |  {wish.text}")
    known = next((edge for edge in graph.edges if (edge.source, edge.target) == (source, place)), None)
    rivals = [edge.by_user for edge in graph.incoming(place) if edge.by_user and edge.source != source]
    if rivals:
        raise ConstraintError(f"these two contradict each other: {rivals[0]}  |  {wish.text}; only one source can decide {wish.column!r}")
    if domain.columns[place].is_listed:
        return _set_table(graph, wish, (source, place, code), domain)
    fits = known.fits if known is not None and known.fits is not None else graph.data.conditionals[source, place]
    if wish.distribution is not None:
        fits = _fitted(fits, code, wish, domain.columns[place])
    edge = Edge(source, place, 0.0, fits, wish.text)
    graph = graph.without_incoming(place, keep=source)
    graph = replace(graph, edges=(*(e for e in graph.edges if e is not known), edge))
    return _scale_value(graph, wish, (source, place, code)) if wish.distribution is None else graph


def _scale_value(graph: Graph, wish: Wish, where: tuple[int, int, int]) -> Graph:
    source, place, code = where
    fits = next(edge.fits for edge in graph.edges if (edge.source, edge.target) == (source, place))
    assert fits is not None
    group = fits if fits.count[code] > 0 else graph.numbers[place]
    at = code if fits.count[code] > 0 else 0
    old = (float(group.low[at]), float(group.high[at]))
    new = wish.range or old
    if wish.factor is not None:
        new = (min(new[0] * wish.factor, new[1] * wish.factor), max(new[0] * wish.factor, new[1] * wish.factor))
    scalings = {**graph.value_scalings.get((source, place), {}), code: Scaling(old, new)}
    return replace(graph, value_scalings={**graph.value_scalings, (source, place): scalings})


def _set_table(graph: Graph, wish: Wish, where: tuple[int, int, int], domain: TabularDomain) -> Graph:
    source, place, code = where
    if wish.frequencies is None:
        raise ConstraintError(f"{wish.text}: an association of two categories takes frequencies")
    size, values = graph.data.sizes[source], graph.data.sizes[place]
    table = graph.tables.get(place)
    counts = table.counts.copy() if table is not None and table.sources == (source,) else np.tile(graph.shares[place], (size, 1))
    counts[code] = _shares(domain.columns[place], wish.frequencies)
    graph = graph.without_incoming(place)
    edge = Edge(source, place, 0.0, None, wish.text)
    joint = JointTable((source,), (size,), counts.reshape(size, values))
    return replace(graph, edges=(*graph.edges, edge), tables={**graph.tables, place: joint})


def _shares(column: Column, frequencies: Mapping[Value, float]) -> Reals:
    shares: Reals = np.zeros(len(column.values) + 1)
    for value, share in frequencies.items():
        shares[int(column.code(value))] += share
    total: float = shares.sum()
    shares /= total
    return shares


_STEPS: dict[str, Callable[[Graph, Wish, TabularDomain], Graph]] = {"delete": _delete, "add": _set, "modify": _set}
