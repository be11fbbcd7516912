"""The one header: what fixes a run, for every verb and every medium.  Equal headers, but for date and command, give equal findings."""

from __future__ import annotations

import platform
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evenhand.contract import Medium, Method, Model, name_of, parameters
from evenhand.domain.co_changes import co_change_words
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.digest import domain_digest, rows_digest
from evenhand.engine.subject import Plan, Subject
from evenhand.models.answer_shapes import Reader
from evenhand.models.readings import reading_of
from evenhand.oracles import oracle_text

COMMAND: ContextVar[str] = ContextVar("command", default="called from Python")
"""The command line that is being carried out."""

UNFIXED = ("date", "command", "versions")
"""Parts of a header that change nothing of what is found."""

GIVEN = ("estimator", "module", "source")
"""Where adapters hold what was given to be tested."""

FILES = ("path", "file", "graph")
"""Where those that read a model from a file hold it."""


def _version() -> str:
    from evenhand import __version__

    return __version__


TOLD_VERSIONS = ("numpy", "scipy", "pandas", "sklearn", "torch", "onnxruntime", "xgboost", "lightgbm", "catboost")
"""Packages whose version may change an answer; those are told that were at work."""


def _versions() -> dict[str, str]:
    """Python and the packages that were loaded, each with its version."""
    loaded = {name: str(getattr(sys.modules[name], "__version__", "")) for name in TOLD_VERSIONS if name in sys.modules}
    return {"python": platform.python_version(), **{name: version for name, version in loaded.items() if version}}


@dataclass(frozen=True)
class Header:
    """What a reader needs to get the same result again.

    data: name, digest, rows.  domain: digest, protected, label, favourable, classes.  model and medium: kind, digest.
    budget: its four limits; empty where nothing is searched.  details: what only one verb has.  versions: of Python and of packages.
    """

    verb: str
    evenhand: str = field(default_factory=_version)
    date: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())
    command: str = field(default_factory=COMMAND.get)
    seed: int = 0
    budget: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=lambda: dict.fromkeys(("name", "digest", "rows")))
    domain: Mapping[str, Any] = field(default_factory=lambda: dict.fromkeys(("digest", "protected", "label", "favourable", "classes")))
    model: Mapping[str, Any] = field(default_factory=lambda: dict.fromkeys(("kind", "digest")))
    medium: Mapping[str, Any] = field(default_factory=lambda: {"kind": "table", "digest": None})
    oracle: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=_versions)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the verb stands beside the header there."""
        return {name: value for name, value in asdict(self).items() if name != "verb"}

    def fixed(self) -> dict[str, Any]:
        """The parts that fix what is found."""
        return {name: value for name, value in self.as_dict().items() if name not in UNFIXED}

    def for_run(self, method: Method) -> dict[str, Any]:
        """What fixes the run of one method; what a verb does beside searching is no part of it."""
        fixed = {name: value for name, value in self.fixed().items() if name != "details"}
        return {"method": name_of(method), "parameters": dict(parameters(method)), **fixed}


def header_of(verb: str, subject: Subject, data: str, plan: Plan | None, details: Mapping[str, Any] | None = None) -> Header:
    """The header of a verb on this subject; `data` is its name.  Without a plan nothing is drawn, searched or judged."""
    return Header(
        verb=verb,
        seed=plan.seed if plan else 0,
        budget=asdict(plan.budget) if plan else {},
        data={"name": data, "digest": rows_digest(subject.rows), "rows": 0 if subject.rows is None else len(subject.rows)},
        domain=domain_part(subject.domain, subject.model.classes),
        model={"kind": kind_of(subject.model), "digest": subject.model.fingerprint()},
        medium=_medium(subject.medium, subject.domain),
        oracle=oracle_text(plan.oracle) if plan else "",
        details={**dict(details or {}), **model_file_of(subject.model), "reading": reading_of(subject.model)},
    )


def kind_of(model: Model) -> str:
    """The class of what was given to be tested, behind the meter, the medium and the adapter; of a pipeline the class of its last step."""
    asked = _asked(model)
    given = next((part for name in GIVEN if (part := getattr(asked, name, None)) is not None and not isinstance(part, (str, Path))), asked)
    steps = getattr(given, "steps", None)
    return type(steps[-1][1] if isinstance(steps, list) and steps else given).__name__


def _asked(model: Model) -> Any:
    """What answers, behind the meter and the medium."""
    inner = getattr(model, "model", model)
    model = inner if isinstance(inner, Model) and type(model).__name__ == "Meter" else model
    seen = getattr(model, "reader", None)  # a model of pictures or texts has one that sees; of the others it only reads answers
    asked = getattr(model, "recogniser", model) if seen is None or isinstance(seen, Reader) else seen
    return getattr(asked, "recogniser", asked)  # behind the answers that are kept of it


def model_file_of(model: Model) -> dict[str, str]:
    """The name of the file that a model was read from, where it knows it; no folder, so that a moved file is the same one."""
    asked = _asked(model)
    holders = (asked, getattr(asked, "session", None))
    found = (getattr(holder, name, None) for holder in holders for name in FILES)
    file = next((part for part in found if isinstance(part, (str, Path)) and str(part)), None)
    return {} if file is None else {"model_file": Path(file).name}


def domain_part(domain: TabularDomain, classes: Sequence[Any] = ()) -> dict[str, Any]:
    """A header's domain; the classes are the model's."""
    learnt = [co_change_words(rule) for rule in domain.implied if rule.is_learnt and rule.column in domain.protected]
    return {
        "digest": domain_digest(domain),
        "protected": list(domain.protected),
        "label": domain.label.column if domain.label else None,
        "favourable": [str(c) for c in domain.label.favourable] if domain.label else [],
        "classes": [str(c) for c in classes],
        **({"co_changed": learnt} if learnt else {}),
    }


def _medium(medium: Medium | None, domain: TabularDomain) -> dict[str, Any]:
    """A table shows its rows as they are: it is its domain."""
    if medium is None or medium.kind == "table":
        return {"kind": "table", "digest": domain_digest(domain)}
    learned = [str(editor.attribute) for editor in getattr(medium, "editors", ()) if getattr(editor, "learns", True)]
    twins = [f"{editor.attribute}: {editor.flip}" for editor in getattr(medium, "editors", ())]
    told = {"learned_twins": learned, "twins": twins, "pictures": _pictures(medium)}
    return {"kind": medium.kind, "digest": medium.digest(), **{name: each for name, each in told.items() if each}}


def _pictures(medium: Medium) -> str:
    """How many pictures of which size an album shows, and of what readers its jury consists."""
    album: Any = getattr(medium, "album", None)
    if album is None:
        return ""
    count, height, width = album.pictures.shape[:3]
    jury = ", ".join(getattr(medium, "jury", {}))
    return f"{count:,} of {width} x {height} pixels" + (f"; jury brought along: {jury}" if jury else "")


def command_line() -> str:
    """The command line as a person typed it; whatever a URL may carry in secrets is left out."""
    return "evenhand " + shlex.join(_without_secrets(word) for word in sys.argv[1:])


def _without_secrets(word: str) -> str:
    """A URL without user, password and query."""
    return re.sub(r"(https?://)[^/@\s]*@", r"\1", re.sub(r"(https?://[^?\s]*)\?\S*", r"\1", word))
