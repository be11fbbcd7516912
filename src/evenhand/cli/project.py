"""From an evenhand.yaml to the things it names: the data of whatever medium, and the model behind its adapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.output import opening
from evenhand.domain.project_file import ModelSource, Project
from evenhand.errors import DomainError, InvalidArgument
from evenhand.models.http_presets import PRESETS

if TYPE_CHECKING:
    from evenhand.contract import Model
    from evenhand.datasets.dataset import Dataset

DEFAULT_FILE = Path("evenhand.yaml")

ORACLE_HELP = (
    "What counts as unfair, instead of the file's: flip, gap:threshold=0.2, amounts:tolerance=500, direct, resampled, neighbour, "
    "robustness, counts, objects.  `evenhand methods --oracles` explains them."
)


@dataclass(frozen=True)
class Loaded:
    """A project whose data has been read and whose model is ready."""

    project: Project
    data: Dataset
    model: Model
    place: Mapping[str, Any] = field(default_factory=dict)  # the file as another tool names it, and the lines of its parts


PANEL = "The model, and how its answers are read"
PROTECTED: Any = typer.Option(None, "--protected", help="Protected columns, separated by commas, instead of the file's.")
"""The option of every command that compares people."""

MODEL = typer.Option(None, "--model", help="A model file or URL instead of the file's.", rich_help_panel=PANEL)
TRUSTED = typer.Option(False, "--trusted", help="Allow a file that can run code when loaded: pickles, torch files.", rich_help_panel=PANEL)
RETURNS = typer.Option(
    None, "--returns", help="What the model says: label, probability, logit, percent, score, amount or counts.", rich_help_panel=PANEL
)
THRESHOLD = typer.Option(
    None,
    "--threshold",
    help="The smallest number that counts as the class it speaks for; or 'best 100', 'best 10%'.",
    rich_help_panel=PANEL,
)
CLASSES = typer.Option(None, "--classes", help="The model's classes in its own order, separated by commas.", rich_help_panel=PANEL)
PRESET = typer.Option(None, "--preset", help=f"The format in which a URL is spoken to: {', '.join(PRESETS)}.", rich_help_panel=PANEL)
MODEL_OUTPUT = typer.Option(
    None, "--model-output", min=0, help="Which label or amount, counted from 0, of a model that predicts several.", rich_help_panel=PANEL
)
"""The options of every command that asks a model: which one, and how its answers are read."""


PICTURE_PANEL = "Pictures: what you bring yourself (module:object, .onnx, a torch file)"
EDITOR = typer.Option(None, "--editor", help="What makes twins: a name, or an editor of your own.", rich_help_panel=PICTURE_PANEL)
JURY = typer.Option(
    None, "--jury", help="A reader that confirms twins, as in race=race.onnx; repeat for several.", rich_help_panel=PICTURE_PANEL
)
PAIRS = typer.Option(None, "--pairs", help="A folder of ready-made twins: VALUE/FILE.", rich_help_panel=PICTURE_PANEL)
GENERATOR = typer.Option(None, "--generator", help="A latent space of pictures.", rich_help_panel=PICTURE_PANEL)
"""The options of commands that compare twins of pictures."""


@dataclass(frozen=True)
class PictureFlags:
    """What the command line says of twins; it goes before what the file says."""

    editor: str | None = None
    jury: Sequence[str] = ()
    pairs: str | None = None
    generator: str | None = None
    trusted: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """As settings of an album, files taken from here; nothing where nothing is said."""
        told: dict[str, Any] = {"editor": self.editor, "pairs": self.pairs, "generator": self.generator}
        found: dict[str, Any] = {name: _from_here(value) for name, value in told.items() if value}
        if self.pairs:
            found["editor"] = ""
        if self.jury:
            parts = [each.partition("=") for each in self.jury]
            if any(not value for _, _, value in parts):
                raise InvalidArgument(f"--jury {list(self.jury)} must be ATTRIBUTE=READER, such as race=race.onnx")
            found["jury"] = {name.strip(): _from_here(value.strip()) for name, _, value in parts}
        return {**found, "trusted": True} if found and self.trusted else found


def _from_here(value: str) -> str:
    """A file or folder of this place by its whole path; a name stays a name."""
    return str(Path(value).resolve()) if Path(value).exists() else value


@dataclass(frozen=True)
class ModelFlags:
    """What the command line says of the model; it goes before what the file says."""

    model: str | None = None
    trusted: bool = False
    returns: str | None = None
    threshold: str | None = None
    classes: str | None = None
    preset: str | None = None
    output: int | None = None

    def over(self, source: ModelSource | None, label: Sequence[Any]) -> ModelSource | None:
        """The file's model with these wishes; None where neither names one.  `label`: its values, as which classes are read."""
        if self.model is not None:
            source = _given(self.model, self.trusted)
        if source is None:
            return None
        if self.preset is not None and source.url is None:
            raise InvalidArgument(f"--preset {self.preset} is for a model behind a URL")
        return replace(
            source,
            returns=self.returns or source.returns,
            threshold=threshold_of(self.threshold) if self.threshold is not None else source.threshold,
            classes=classes_of(self.classes, label) if self.classes is not None else source.classes,
            output=self.output if self.output is not None else source.output,
            http={**source.http, "preset": self.preset} if self.preset is not None else source.http,
        )


def threshold_of(text: str) -> float | str:
    """A threshold as a number; 'best 10%' stays a text."""
    try:
        return float(text)
    except ValueError:
        return text


def classes_of(text: str, label: Sequence[Any]) -> tuple[Any, ...]:
    """Names separated by commas, each as the label's own value where it has one of this text."""
    known = {str(value): value for value in label}
    return tuple(known.get(name.strip(), name.strip()) for name in text.split(","))


def load_all(file: Path, flags: ModelFlags | None = None, *, may_lack_labels: bool = False, pictures: PictureFlags | None = None) -> Loaded:
    """The project, its data and its model, which `flags` may replace.  Rows of a table may lack their label where that is allowed."""
    from evenhand.campaign.opened_project import open_project, project_model
    from evenhand.datasets.large_dataset import LargeDataset

    flags = flags or ModelFlags()
    _check_openable(file, flags)
    with opening():
        opened = open_project(file, pictures.settings if pictures else None)
    may_lack_labels = may_lack_labels and opened.project.medium is None and not isinstance(opened.data, LargeDataset)
    data = _with_unlabelled(opened.project) if may_lack_labels else opened.data
    source = flags.over(opened.project.model, data.domain.label.values if data.domain.label else ())
    if source is None:
        raise DomainError("the file names no model; add `model: model.skops` (or .onnx, a URL, ...), or pass --model", file=str(file))
    answers = opened.project.scan.runs / "answers"
    return Loaded(opened.project, data, project_model(source, data, flags.trusted, answers), place_of(file))


def _check_openable(file: Path, flags: ModelFlags) -> None:
    """Tell what is wrong with the model's file or name before pictures or scenes are read, which may take long."""
    from evenhand.campaign.opened_project import file_or_name
    from evenhand.domain.project_file import read_project
    from evenhand.models.own_parts import PartWishes, is_own_part, opened_part

    project = read_project(file)
    source = flags.over(project.model, ())
    given = None if project.medium is None or source is None or source.path is None else file_or_name(source.path)
    if given is not None and is_own_part(str(given)):
        assert source is not None
        opened_part(str(given), PartWishes("model", trusted=source.trusted or flags.trusted))


def place_of(file: Path) -> dict[str, Any]:
    """The project file, named from here where it lies below, and the line of each of its sections and columns."""
    from evenhand.domain.yamltext import read_yaml

    lines = read_yaml(file.read_text(encoding="utf-8"), str(file)).lines
    named = {".".join(str(part) for part in path): line for path, line in lines.items() if len(path) == 1 or path[:1] == ("columns",)}
    here, whole = Path.cwd(), file.resolve()
    shown = whole.relative_to(here).as_posix() if whole.is_relative_to(here) else file.name
    return {"file": shown, "lines": {name: line for name, line in named.items() if name.count(".") <= 1}}


def _with_unlabelled(project: Project) -> Dataset:
    """The table with the rows that have no label too."""
    from evenhand.datasets.dataset import Dataset
    from evenhand.domain.frames import as_frame

    assert project.data is not None
    return Dataset(project.data.path.stem, as_frame(project.table()), project.domain)


def _given(model: str, trusted: bool) -> ModelSource:
    is_url = model.startswith(("http://", "https://"))
    return ModelSource(url=model, trusted=trusted) if is_url else ModelSource(path=Path(model), trusted=trusted)
