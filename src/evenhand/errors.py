"""Every error that Evenhand raises on purpose, in one tree.

EvenhandError
  InvalidArgument      a value that the caller passed                      (also a ValueError)
    UnknownName        a name that nothing is registered under; says what was probably meant
  DomainError          a domain or evenhand.yaml that makes no sense; carries file and line
    ConstraintError    a constraint that does not parse, or a set that nobody can satisfy
  DataError            a table that does not fit its domain; carries column and row
  ModelError           the model under test misbehaved; the run is a failure, never "nothing found"
    ModelFailed        it raised, or its endpoint did not answer
    WrongAnswer        it answered with the wrong shape, with NaN, or with labels nobody declared
      UnclearAnswers   they can be read in more than one way; shows the readings and the line that chooses one
    UnsteadyModel      it gave two answers to one question
    UntrustedModel     loading it would run code that the user has not declared trusted
    MissingAbility     the method needs gradients, activations or scores that this model does not offer
  MethodError          a search method broke its contract or crashed
  RegistryError        a file among the plug-ins that does not hold what its folder asks for
  WorkerError          work that was sent elsewhere and did not come back: the worker died, or its cluster is out of reach
  StoreError           a run folder that cannot be written, read or continued
  MissingExtra         an optional dependency is not installed; names the extra (also an ImportError)
  BudgetSpent          not a fault: raised inside a method when the budget ends, caught by the engine
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from types import ModuleType


class EvenhandError(Exception):
    """The root: catch this to catch everything that Evenhand raises on purpose."""


class InvalidArgument(EvenhandError, ValueError):
    """A value that the caller passed cannot be used."""


class UnknownName(InvalidArgument):
    """Nothing is registered under this name."""

    def __init__(self, what: str, name: str, known: Iterable[str], likely: str | None = None) -> None:
        known = sorted(known)
        close = [likely] if likely is not None else difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
        super().__init__(f"unknown {what} {name!r}; {hint}")


class DomainError(EvenhandError):
    """A domain or project file that makes no sense."""

    def __init__(self, message: str, *, file: str = "", line: int = 0) -> None:
        self.file, self.line, self.message = file, line, message
        place = f"{file}:{line}: " if file and line else f"{file}: " if file else f"line {line}: " if line else ""
        super().__init__(place + message)


class ConstraintError(DomainError):
    """A constraint that does not parse, or a set of constraints that nobody can satisfy."""


class DataError(EvenhandError):
    """A table that does not fit its domain."""


class ModelError(EvenhandError):
    """The model under test misbehaved."""


class ModelFailed(ModelError):
    """The model raised, or its endpoint did not answer."""


class WrongAnswer(ModelError):
    """The model answered, but not with one finite score row per input."""


class UnclearAnswers(WrongAnswer):
    """The model's answers can be read in more than one way; `choices` are the lines of evenhand.yaml that choose each."""

    def __init__(self, message: str, choices: Sequence[Sequence[str]] = ()) -> None:
        super().__init__(message)
        self.choices = tuple(tuple(lines) for lines in choices)


class UnsteadyModel(ModelError):
    """The model gave two answers to one question."""


class UntrustedModel(ModelError):
    """Loading this model would run code that the user has not declared trusted."""


class MissingAbility(ModelError):
    """The method needs something that this model does not offer."""


class MethodError(EvenhandError):
    """A search method broke its contract or crashed."""


class RegistryError(EvenhandError):
    """A file among the plug-ins does not hold what its folder asks for."""


class WorkerError(EvenhandError):
    """Work that was sent to another process did not come back."""


class StoreError(EvenhandError):
    """A run folder cannot be written, read or continued."""


class MissingExtra(EvenhandError, ImportError):
    """An optional dependency is not installed."""


class BudgetSpent(EvenhandError):
    """The budget has ended; the engine catches this and closes the run cleanly."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise MissingExtra(f"{module} is not installed; install it with: pip install 'evenhand[{extra}]'") from missing
