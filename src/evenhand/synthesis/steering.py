"""A user's wishes worked into a constraint graph (AITEST, Algorithm 2), and the domain that the wished rows live in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from evenhand.arrays import Reals, Rows
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


def wished_domain(domain: TabularDomain, wishes: Wishes, rows: Rows | None = None) -> TabularDomain:
    """The domain with the user's ranges and rules; a factor moves both ends of a range.  Dependencies are learned from the rows."""
    columns = list(domain.columns)
    for wish in wishes.wishes:
        place = domain.place(wish.column)
        if wish.only_range:
            columns[place] = _unbounded(columns[place])
        elif wish.action != "delete" and not columns[place].is_listed:
            columns[place] = _wished_column(columns[place], wish)
        if wish.missing:  # where none is to be missing, rows are drawn until none is
            columns[place] = replace(columns[place], missing=float(wish.missing))
    rules = compile_constraints(wishes.rules, columns, rows)
    return replace(domain, columns=tuple(columns), constraints=(*domain.constraints, *rules))


def _unbounded(column: Column) -> Column:
    """A column whose cells may lie as far outside the data's range as the range is wide."""
    span = column.highest - column.lowest
    return replace(column, low=column.lowest - span, high=column.highest + span)


def _wished_column(column: Column, wish: Wish) -> Column:
    low, high = column.lowest, column.highest
    if wish.range is not None:
        low, high = wish.range if not wish.source else (min(low, wish.range[0]), max(high, wish.range[1]))
    elif wish.factor is not None or wish.shift is not None:
        ends = _moved(wish, low, high)
        low, high = min(low, *ends), max(high, *ends)
    if column.is_integral:
        low, high = int(np.ceil(low)), int(np.floor(high))
        if low > high:
            raise ConstraintError(f"{wish.text}: there is no whole number in this range")
    return replace(column, low=low, high=high)


def _moved(wish: Wish, low: float, high: float) -> tuple[float, float]:
    """Both ends of a range after the wished factor and shift."""
    factor, shift = wish.factor if wish.factor is not None else 1.0, wish.shift or 0.0
    return low * factor + shift, high * factor + shift


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
        return replace(
            graph, unbounded=graph.unbounded | {place}, numbers={**graph.numbers, place: _widened(graph.numbers[place], domain, place)}
        )
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


def _widened(own: Fits, domain: TabularDomain, place: int) -> Fits:
    """A number's own constraint without the ends of the data; one that no distribution fits is even over all that is allowed."""
    column = domain.columns[place]
    return replace(own, low=np.array([column.lowest]), high=np.array([column.highest]))


def _set(graph: Graph, wish: Wish, domain: TabularDomain) -> Graph:
    """An addition or modification of a column's or an association's constraint."""
    if wish.source:
        return _set_association(graph, wish, domain)
    place = domain.place(wish.column)
    if wish.frequencies is not None:
        shares = _shares(domain.columns[place], wish.frequencies, graph.shares[place])
        graph = replace(graph.without_incoming(place), shares={**graph.shares, place: shares})
        return replace(graph, settled={**graph.settled, place: wish.text})
    if wish.distribution is not None:
        graph = _set_distribution(graph, wish, domain)
    moves = wish.factor is not None or wish.shift is not None
    if wish.range is not None and wish.distribution is None and not moves:
        graph = _rescale(graph, place, wish.range)
    return _set_move(graph, place, wish) if moves else graph


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


def _set_move(graph: Graph, place: int, wish: Wish) -> Graph:
    """Numbers times the factor, plus the shift; one that would leave a wished range stops at its end."""
    own = graph.numbers[place]
    old = graph.scalings.get(place, Scaling(*([(float(own.low[0]), float(own.high[0]))] * 2)))
    low, high = _moved(wish, *old.new)
    return replace(graph, scalings={**graph.scalings, place: Scaling(old.old, (min(low, high), max(low, high)), wish.range)})


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
    new = (min(_moved(wish, *new)), max(_moved(wish, *new)))
    scalings = {**graph.value_scalings.get((source, place), {}), code: Scaling(old, new)}
    return replace(graph, value_scalings={**graph.value_scalings, (source, place): scalings})


def _set_table(graph: Graph, wish: Wish, where: tuple[int, int, int], domain: TabularDomain) -> Graph:
    source, place, code = where
    if wish.frequencies is None:
        raise ConstraintError(f"{wish.text}: an association of two categories takes frequencies")
    table = _joint_with(graph, source, place)
    shares = _shares(domain.columns[place], wish.frequencies, graph.shares[place])
    counts = table.counts.reshape(*table.sizes, -1).copy()
    mine = tuple(code if each == source else slice(None) for each in table.sources)
    counts[mine] = np.maximum(counts[mine].sum(axis=-1, keepdims=True), 1.0) * shares
    joint = JointTable(table.sources, table.sizes, counts.reshape(-1, counts.shape[-1]))
    edges = tuple(edge for edge in graph.edges if (edge.source, edge.target) != (source, place))
    edge = Edge(source, place, 0.0, None, wish.text)
    return replace(graph, edges=(*edges, edge), tables={**graph.tables, place: joint})


MOST_COMBINATIONS = 200_000


def _joint_with(graph: Graph, source: int, place: int) -> JointTable:
    """What the data say of a category by its sources, this one among them: the user's word on one value leaves the others as they are.

    A source that the graph does not draw the category from joins its sources as if it had nothing to do with them beside the category.
    """
    known = {edge.source for edge in graph.incoming(place)}
    table = graph.tables.get(place) or graph.data.joints.get(place)
    if table is not None and source in table.sources:
        return table
    met, size = graph.data.together(source, place), graph.data.sizes[source]
    if table is None or not known & set(table.sources) or size * table.counts.size > MOST_COMBINATIONS:
        return JointTable((source,), (size,), met)
    parts = np.divide(met, met.sum(axis=0), out=np.full(met.shape, 1 / size), where=met.sum(axis=0) > 0)
    counts = parts[:, None, :] * table.counts
    return JointTable((source, *table.sources), (size, *table.sizes), counts.reshape(-1, counts.shape[-1]))


def _shares(column: Column, frequencies: Mapping[Value, float], own: Reals) -> Reals:
    """Shares of every value.  What the named ones leave of 1 goes to the others as the data have them; else shares are ratios."""
    shares: Reals = np.zeros(len(column.values) + 1)
    for value, share in frequencies.items():
        shares[int(column.code(value))] += share
    rest = 1.0 - float(shares.sum())
    others = np.where([column.values[at] in frequencies if at < len(column.values) else True for at in range(len(shares))], 0.0, own)
    if rest > 1e-9 and len(frequencies) < len(column.values):
        others = others if others.sum() > 0 else np.append([value not in frequencies for value in column.values], False).astype(np.float64)
        shares += rest * others / others.sum()
        return shares
    found: Reals = shares / shares.sum()
    return found


_STEPS: dict[str, Callable[[Graph, Wish, TabularDomain], Graph]] = {"delete": _delete, "add": _set, "modify": _set}
