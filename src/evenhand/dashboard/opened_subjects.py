"""Projects whose data and model were opened for a page: kept for the next question, and opened again when a file changes."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

from evenhand.campaign.opened_project import OpenedProject, open_project, project_model
from evenhand.contract import Medium, Model, Oracle
from evenhand.dashboard.catalogue import Catalogue, ProjectPlace
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.subject import Subject, oracle_for, subject_of
from evenhand.errors import DomainError, UntrustedModel

MOST_KEPT = 3


@dataclass
class OpenedSubject:
    """A project with its data, and with its model once that was asked for; one question at a time."""

    file: Path
    stamps: tuple[int, ...] = ()
    opened: OpenedProject | None = None
    subject: Subject | None = None
    oracle: Oracle | None = None
    fault: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)
    looked: threading.Event = field(default_factory=threading.Event)  # set when the data was opened, or could not be

    @property
    def has_data(self) -> bool:
        """Whether rows can be shown."""
        return self.opened is not None

    @property
    def is_ready(self) -> bool:
        """Whether the model can be asked."""
        return self.subject is not None and self.oracle is not None

    @property
    def domain(self) -> TabularDomain:
        """What a row may be."""
        assert self.opened is not None
        return self.subject.domain if self.subject is not None else self.opened.data.domain

    @property
    def medium(self) -> Medium | None:
        """What a row shows."""
        return getattr(self.opened.data, "medium", None) if self.opened is not None else None


class OpenedSubjects:
    """The projects that were opened, the least recently used thrown away first."""

    def __init__(self, catalogue: Catalogue, is_trusted: bool) -> None:
        self.catalogue, self.is_trusted = catalogue, is_trusted
        self._kept: dict[str, OpenedSubject] = {}
        self._lock = threading.Lock()

    def of(self, place: ProjectPlace) -> OpenedSubject:
        """The project as it is: opened already, failed, or being opened by a thread that this starts."""
        file = self.catalogue.path(place)
        with self._lock:
            known = self._kept.pop(place.id, None)
            if known is None or known.stamps != _stamps(file, known.opened):
                known = OpenedSubject(file, _stamps(file, None))
                threading.Thread(target=self._open, args=(known,), daemon=True).start()
            self._kept[place.id] = known
            while len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        return known

    def _open(self, subject: OpenedSubject) -> None:
        """Data first, then the model; whatever goes wrong is told on the page."""
        try:
            opened = open_project(subject.file)
            with self._lock:
                subject.opened, subject.stamps = opened, _stamps(subject.file, opened)
            subject.looked.set()
            model = self._model(opened, subject.file)
            made = subject_of(model, opened.data, None)
            subject.oracle = oracle_for(made, opened.project.oracle)
            subject.subject = made
        except Exception as fault:  # loaders and models are foreign code: whatever they raise belongs on the page
            subject.fault = _told(fault)
        finally:
            subject.looked.set()

    def _model(self, opened: OpenedProject, file: Path) -> Model:
        """The project's model; what the file says of trust counts only where the dashboard was started with it."""
        source = opened.project.model
        if source is None:
            raise DomainError("the file names no model; add `model: model.skops` (or .onnx, a URL, ...)", file=file.name)
        try:
            return project_model(
                replace(source, trusted=self.is_trusted), opened.data, self.is_trusted, opened.project.scan.runs / "answers"
            )
        except UntrustedModel as fault:
            raise UntrustedModel(f"{fault}  From here: start the dashboard with --trusted.") from None


def _told(fault: Exception) -> str:
    return str(fault) or type(fault).__name__


def _stamps(file: Path, opened: OpenedProject | None) -> tuple[int, ...]:
    """When the project file, its data and its model were last changed."""
    project = opened.project if opened is not None else None
    data = [project.data.path] if project is not None and project.data is not None else []
    model = [project.model.path] if project is not None and project.model is not None and project.model.path is not None else []
    return tuple(_modified(each) for each in (file, *data, *model))


def _modified(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
