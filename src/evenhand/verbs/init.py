"""init(): look at data of any medium and write the evenhand.yaml that a person reads and corrects."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.campaign.opened_project import check_model_opens, editor_tools, open_project, project_model
from evenhand.contract import DataWishes, Loader, NeedsRecogniser, ProposingLoader, ReadsTones
from evenhand.datasets.albums.reading import SkippedPictures
from evenhand.datasets.dataset import Dataset, from_frame
from evenhand.datasets.large_dataset import is_large, propose_large
from evenhand.disk import write_whole
from evenhand.domain.co_changes import co_change_pairs
from evenhand.domain.databases import database_file, is_database, seen_from
from evenhand.domain.infer import InferWishes, Proposal, propose
from evenhand.domain.project_file import read_project, save_project
from evenhand.domain.project_sections import DataSource, MediumSource, ModelSource, Project
from evenhand.errors import EvenhandError, InvalidArgument, StoreError, UnclearAnswers
from evenhand.limits import Count, check_argument
from evenhand.media.without_twins import NONE
from evenhand.models.http_presets import PRESETS
from evenhand.models.readings import proposed_for, reading_of
from evenhand.verbs.open import PROJECT, as_tuple, loader_for

TABLES = ("table", "large_table")
NOTHING_ALONG = "no values of other columns occur with one protected value only, in pairs: nothing was found that changes along with it"
ALBUM = "album"
ASKED_PICTURES = 300
"""Pictures that are read at most, for the same."""
ASKED_ROWS = 20_000
"""Rows of a table that the model is asked about at most, to see how its answers are read."""


@dataclass(frozen=True)
class WrittenProject:
    """The file that was written, what it says, and what a person should know about it."""

    file: Path
    project: Project
    lines: tuple[str, ...]

    def summary(self) -> str:
        """For a person."""
        return "\n".join([*self.lines, "", f"Written: {self.file}.  Read it, correct it, then `evenhand doctor` and `evenhand scan`."])


def init(
    source: str | Path,
    *,
    label: str | None = None,
    favourable: object = None,
    protected: Sequence[str] = (),
    model: str | Path | None = None,
    keep: Sequence[str] = (),
    numbers: Sequence[str] = (),
    returns: str | None = None,
    threshold: float | str | None = None,
    classes: Sequence[object] | None = None,
    output: int | None = None,
    preset: str | None = None,
    trusted: bool = False,
    file: str | Path = PROJECT,
    tone: bool = False,
    limit: int | None = None,
    co_changed: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> WrittenProject:
    """Write a project file for a table, a folder of pictures, templates of texts, or whatever else a loader can propose.

    source: the data.  label: what the model predicts.  favourable: the outcome that a person hopes for.  protected: what must not change
    the answer.  model: the model's file or URL.  keep, numbers: as for `infer`, of a table.  returns, threshold, classes, output: how the
    model's answers are read, preset: the format in which a URL is spoken to, trusted: whether a file that can run code may be loaded, all
    as for `wrap`; they are written into the file.  file: what is written; never overwritten.
    tone: of pictures of people, read skin tones from the pixels and propose them as protected.
    limit: of a folder of pictures, at most so many, drawn by a seed.
    co_changed: of a table, put into force what seems to change along with a protected value; otherwise it is proposed only.
    settings: what a loader takes, as for `open`: the legend of label maps, a segmenter; they are written into the file.
    """
    source, file = source if isinstance(source, str) and is_database(source) else Path(source), Path(file)
    if file.exists():
        raise StoreError(f"{file} exists already and is not overwritten; move it away, or write elsewhere with --out")
    wanted = _model(model, _Wiring(returns, threshold, classes, output, preset, trusted))
    loader: Loader = loader_for(source).with_parameters(settings or {})
    if settings and (isinstance(source, str) or loader.kind in TABLES):
        raise InvalidArgument(
            f"settings={dict(settings)!r} are of pictures, scenes and texts; what a table is read for has options of its own"
        )
    if isinstance(source, str):
        wishes = InferWishes(label, favourable, tuple(protected), tuple(keep), tuple(numbers))
        return _of_table(source, wishes, wanted, file, co_changed)
    if isinstance(loader, NeedsRecogniser) and model is not None:
        loader = loader.with_recogniser(source, str(model))
    if tone:
        if not isinstance(loader, ReadsTones):
            raise InvalidArgument(f"tone: skin tones are read from pictures of people, and {source} is data of the kind {loader.kind!r}")
        loader = loader.with_tone()
    limited = _limited(limit, loader.kind)
    if loader.kind in TABLES:
        wishes = InferWishes(label, favourable, tuple(protected), tuple(keep), tuple(numbers))
        return _of_table(source, wishes, wanted, file, co_changed)
    if not isinstance(loader, ProposingLoader):
        raise InvalidArgument(f"source={str(source)!r}: no project file can be proposed for data of the kind {loader.kind!r}")
    proposed = loader.propose(source, DataWishes(editor_tools(0), label, as_tuple(favourable), tuple(protected)))
    chosen = {**proposed.settings, **limited, **(settings or {})}
    medium = MediumSource(loader.kind, chosen, label, as_tuple(favourable), proposed.protected)
    project = Project(None, DataSource(source), wanted, medium=medium)
    save_project(project, file)
    return _with_reading(WrittenProject(file, project, proposed.lines))


def _limited(limit: int | None, kind: str) -> dict[str, int]:
    """How many pictures are read, as a setting; nothing where nothing is said."""
    if limit is None:
        return {}
    if kind != ALBUM:
        raise InvalidArgument(f"limit={limit!r} is for a folder of pictures, and this is data of the kind {kind!r}")
    check_argument(Count, limit=limit)
    return {"limit": limit}


def _of_table(source: str | Path, wishes: InferWishes, model: ModelSource | None, file: Path, co_changed: bool) -> WrittenProject:
    proposal = propose_large(source, wishes) if is_large(source) else propose(source, wishes)
    if co_changed:
        accepted = tuple(each.rule for each in proposal.co_changes)
        notes = proposal.notes if accepted else (*proposal.notes, NOTHING_ALONG)
        proposal = replace(proposal, domain=replace(proposal.domain, implied=accepted), notes=notes)
    data = _database(source, file) if isinstance(source, str) else DataSource(source)
    project = Project(proposal.domain, data, _as_labels(model, proposal))
    save_project(project, file, proposal)
    written = WrittenProject(file, project, _lines(proposal))
    # The table has been read: to ask the model, some of its rows are enough, and they are not read a second time.
    return written if project.model is None else _with_reading(written, _some_rows(proposal, Path(source).stem))


def _database(url: str, file: Path) -> DataSource:
    """A table of a database, as a project in this file names it: a path that is not whole is taken from there."""
    is_beside = file.absolute().parent == Path.cwd()
    return DataSource(database_file(url), database=url if is_beside else seen_from(url, Path()))


def _some_rows(proposal: Proposal, name: str) -> Dataset:
    """Rows spread evenly over what was looked at."""
    frame = proposal.looked_at
    assert frame is not None
    return from_frame(frame.iloc[:: -(-len(frame) // ASKED_ROWS)].reset_index(drop=True), proposal.domain, name)


def _with_reading(written: WrittenProject, data: Dataset | None = None) -> WrittenProject:
    """The model is asked about a few rows: how its answers are read is said, and proposed as lines of the file."""
    source = written.project.model
    if source is None:
        return written
    if source.path is None:
        note = "the endpoint was not asked anything; `evenhand doctor` asks it, and proposes how its answers are read"
        return replace(written, lines=(*written.lines, note))
    told = _read(written, data)
    if told.proposed:
        lines = ["model:", f"  path: {_shown(source.path, written.file)}", *(f"  {line}" for line in told.proposed)]
        head = "\n# How the model's answers are read.  To make that certain, replace the model's line above by:\n"
        before = written.file.read_text(encoding="utf-8")
        write_whole(written.file, before + head + "".join(f"# {line}\n" for line in lines))
    return replace(written, lines=(*written.lines, told.sentence, *(f"  {line}" for line in told.proposed)))


def _shown(path: Path, file: Path) -> str:
    return path.relative_to(file.parent).as_posix() if path.is_relative_to(file.parent) else path.as_posix()


@dataclass(frozen=True)
class _ReadModel:
    """How a model's answers are read, in a sentence, and the lines that would declare it."""

    sentence: str
    proposed: tuple[str, ...] = ()


def _read(written: WrittenProject, data: Dataset | None) -> _ReadModel:
    source = written.project.model
    assert source is not None
    try:
        source = read_project(written.file).model or source
        wrapped = project_model(source, data or _few_shown(written.file, source))
        proposed = proposed_for(wrapped)
        return _ReadModel(f"the model's answers: {reading_of(wrapped)}", proposed.lines if proposed else ())
    except UnclearAnswers as fault:
        blocks = [line for at, lines in enumerate(fault.choices) for line in (*(("# or",) * (at > 0)), *lines)]
        return _ReadModel("the model's answers can be read in more than one way; declare one of these below `model:`", tuple(blocks))
    except EvenhandError as fault:
        return _ReadModel(f"note: how the model's answers are read is not known yet: {fault}")


def _few_shown(file: Path, source: ModelSource) -> Dataset:
    """What the model is asked about; a model of pictures is opened first, and asked about some of them as they are."""
    project = read_project(file)
    if project.medium is None or project.medium.kind != ALBUM:
        return open_project(file).data
    check_model_opens(source)
    few = min(ASKED_PICTURES, project.medium.settings.get("limit", ASKED_PICTURES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedPictures)  # told when the file was proposed, and again whenever all are read
        return open_project(file, {"limit": few, "editor": NONE}).data


@dataclass(frozen=True)
class _Wiring:
    """What the caller declares of the model."""

    returns: str | None = None
    threshold: float | str | None = None
    classes: Sequence[object] | None = None
    output: int | None = None
    preset: str | None = None
    trusted: bool = False


def _model(given: str | Path | None, said: _Wiring) -> ModelSource | None:
    if given is None:
        if said != _Wiring():
            raise InvalidArgument("returns, threshold, classes, output, preset and trusted are said of a model; name it too (--model)")
        return None
    is_url = str(given).startswith(("http://", "https://"))
    source = ModelSource(url=str(given), http=_spoken_to(said)) if is_url else ModelSource(path=Path(given), trusted=said.trusted)
    if said.preset is not None and not is_url:
        raise InvalidArgument(f"preset={said.preset!r} is for a model behind a URL")
    classes = None if said.classes is None else tuple(said.classes)
    return replace(source, returns=said.returns, threshold=said.threshold, classes=classes, output=said.output)  # type: ignore[arg-type]


def _spoken_to(said: _Wiring) -> dict[str, str]:
    """The settings of an endpoint."""
    if said.preset is not None and said.preset not in PRESETS:
        raise InvalidArgument(f"preset={said.preset!r} must be one of {', '.join(PRESETS)}")
    return {} if said.preset is None else {"preset": said.preset}


def _as_labels(model: ModelSource | None, proposal: Proposal) -> ModelSource | None:
    """Declared classes as the label's own values, which may be numbers."""
    label = proposal.domain.label
    if model is None or model.classes is None or label is None:
        return model
    known = {str(value): value for value in label.values}
    return replace(model, classes=tuple(known.get(str(name), name) for name in model.classes))


def _lines(proposal: Proposal) -> tuple[str, ...]:
    domain = proposal.domain
    label = f", label {domain.label.column!r}" if domain.label else ", no label (name it with --label)"
    lines = [f"{len(domain.columns)} columns{label}"]
    lines += [f"left out: {name!r}, {why}" for name, why in proposal.left_out.items()]
    lines += [f"note: {note}" for note in proposal.notes]
    if proposal.protected_candidates:
        lines.append(f"columns that look protected: {', '.join(proposal.protected_candidates)}")
    state = "in force" if domain.implied else "proposed in the file, not in force"
    lines += [f"seems to change along: {co_change_pairs(one.rule)}  ({state}: {one.reason})" for one in proposal.co_changes]
    lines += [f"relation in the data: {one.text}  (kept by {one.support:.2%} of the rows)" for one in proposal.relations[:10]]
    more = len(proposal.relations) - 10
    lines += [f"and {more} more relation{'s' * (more != 1)}, in the project file"] * (more > 0)
    lines += [f"constraint suggested by the data: {one.text}  (broken by {one.broken:.2%} of the rows)" for one in proposal.further[:10]]
    return tuple(lines)
