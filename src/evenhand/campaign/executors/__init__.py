"""Who carries out the tasks of a campaign, one file each, found by name: this process, its threads, processes beside it, a cluster."""

from __future__ import annotations

from evenhand.contract import Executor, Model
from evenhand.errors import InvalidArgument
from evenhand.models.paid_answers import is_asked_remotely
from evenhand.registry import Registry

EXECUTORS: Registry[Executor] = Registry("executor", __name__, Executor, strict=True)


def executor_for(workers: int | None, cluster: str | None = None, model: Model | None = None) -> Executor | None:
    """Who works: nobody in particular where neither is named, a cluster by its address, else so many workers here.

    A model that is asked over a network waits more than it works, so threads of this process share it, its rate limit and what it
    remembers, wherever the rest is done.
    """
    if cluster is not None:
        if workers is not None:
            raise InvalidArgument("workers and cluster: name one of them; a cluster has the workers that it has")
        if is_asked_remotely(model):
            return EXECUTORS.make("threads")
        return EXECUTORS.make("dask", {"address": cluster})
    if workers is None:
        return None
    if workers == 1:
        return EXECUTORS.make("serial")
    return EXECUTORS.make("threads" if is_asked_remotely(model) else "local", {"workers": workers})
