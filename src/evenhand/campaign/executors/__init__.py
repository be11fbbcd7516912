"""Who carries out the tasks of a campaign, one file each, found by name: this process, its threads, processes beside it, a cluster."""

from __future__ import annotations

from evenhand.contract import Executor, Model
from evenhand.errors import InvalidArgument
from evenhand.registry import Registry

EXECUTORS: Registry[Executor] = Registry("executor", __name__, Executor, strict=True)


def executor_for(workers: int | None, cluster: str | None = None, model: Model | None = None) -> Executor | None:
    """Who works: nobody in particular where neither is named, a cluster by its address, else so many workers here.

    A model that is asked over a network waits more than it works, so threads share it, its rate limit and what it remembers.
    """
    if cluster is not None:
        if workers is not None:
            raise InvalidArgument("workers and cluster: name one of them; a cluster has the workers that it has")
        return EXECUTORS.make("dask", {"address": cluster})
    if workers is None:
        return None
    if workers == 1:
        return EXECUTORS.make("serial")
    return EXECUTORS.make("threads" if _waits(model) else "local", {"workers": workers})


def _waits(model: object) -> bool:
    """Whether it, or what it shows rows to, is asked over a network."""
    if getattr(model, "is_remote", False) or getattr(model, "price_per_thousand", 0.0):
        return True
    return any(_waits(inner) for name in ("reader", "recogniser") if (inner := getattr(model, name, None)) is not None)
