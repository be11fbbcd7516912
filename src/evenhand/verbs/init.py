"""init(): look at data of any medium and write the evenhand.yaml that a person reads and corrects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.campaign.opened_project import editor_tools
from evenhand.contract import DataWishes, ProposingLoader
from evenhand.domain.infer import InferWishes, Proposal, propose
from evenhand.domain.project_file import DataSource, MediumSource, ModelSource, Project, save_project
from evenhand.errors import InvalidArgument, StoreError
from evenhand.verbs.open import PROJECT, as_tuple, loader_for


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
    file: str | Path = PROJECT,
) -> WrittenProject:
    """Write a project file for a table, a folder of pictures, templates of texts, or whatever else a loader can propose.

    source: the data.  label: what the model predicts.  favourable: the outcome that a person hopes for.  protected: what must not change
    the answer.  model: the model's file or URL.  keep, numbers: as for `infer`, of a table.  file: what is written; never overwritten.
    """
    source, file = Path(source), Path(file)
    if file.exists():
        raise StoreError(f"{file} exists already and is not overwritten; move it away, or write elsewhere with --out")
    loader = loader_for(source).make()
    if loader.kind == "table":
        wishes = InferWishes(label, favourable, tuple(protected), tuple(keep), tuple(numbers))
        return _of_table(source, wishes, _model(model), file)
    if not isinstance(loader, ProposingLoader):
        raise InvalidArgument(f"source={str(source)!r}: no project file can be proposed for data of the kind {loader.kind!r}")
    proposed = loader.propose(source, DataWishes(editor_tools(0), label, as_tuple(favourable), tuple(protected)))
    medium = MediumSource(loader.kind, proposed.settings, label, as_tuple(favourable), proposed.protected)
    project = Project(None, DataSource(source), _model(model), medium=medium)
    save_project(project, file)
    return WrittenProject(file, project, proposed.lines)


def _of_table(source: Path, wishes: InferWishes, model: ModelSource | None, file: Path) -> WrittenProject:
    proposal = propose(source, wishes)
    project = Project(proposal.domain, DataSource(source), model)
    save_project(project, file, proposal)
    return WrittenProject(file, project, _lines(proposal))


def _model(given: str | Path | None) -> ModelSource | None:
    if given is None:
        return None
    return ModelSource(url=str(given)) if str(given).startswith(("http://", "https://")) else ModelSource(path=Path(given))


def _lines(proposal: Proposal) -> tuple[str, ...]:
    domain = proposal.domain
    label = f", label {domain.label.column!r}" if domain.label else ", no label (name it with --label)"
    lines = [f"{len(domain.columns)} columns{label}"]
    lines += [f"left out: {name!r}, {why}" for name, why in proposal.left_out.items()]
    lines += [f"note: {note}" for note in proposal.notes]
    if proposal.protected_candidates:
        lines.append(f"columns that look protected: {', '.join(proposal.protected_candidates)}")
    lines += [f"relation in the data: {one.text}  (kept by {one.support:.2%} of the rows)" for one in proposal.relations[:10]]
    lines += [f"constraint suggested by the data: {one.text}  (broken by {one.broken:.2%} of the rows)" for one in proposal.further[:10]]
    return tuple(lines)
