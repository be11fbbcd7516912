"""Options that several commands share, each group declared once; `unfolded` makes single options of a command's groups."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from evenhand.domain.project_sections import ModelSource
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, check_argument
from evenhand.models.http_presets import PRESETS

MODEL_PANEL = "The model, and how its answers are read"
PICTURE_PANEL = "Pictures: what you bring yourself (module:object, .onnx, a torch file)"


def unfolded(command: Callable[..., None], *, without: Sequence[str] = ()) -> Callable[..., None]:
    """The command as typer reads it: every parameter that is a group of flags stands for the options of the group's fields.

    `without`: fields that the command has no use for; they keep their defaults.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: list[inspect.Parameter] = []
    for given in inspect.signature(command).parameters.values():
        single = given.replace(annotation=hints[given.name], kind=inspect.Parameter.KEYWORD_ONLY)
        options += _options_of(groups[given.name], without) if given.name in groups else [single]

    @wraps(command)
    def gathering(**chosen: Any) -> None:
        made = {name: kind(**{each: chosen.pop(each) for each in _names(kind, without)}) for name, kind in groups.items()}
        command(**chosen, **made)

    vars(gathering)["__signature__"] = inspect.Signature(options)
    gathering.__annotations__ = {each.name: each.annotation for each in options}
    return gathering


def _options_of(group: Any, without: Sequence[str]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    own: dict[str, Field[Any]] = {each.name: each for each in fields(group)}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(own[name]), annotation=hints[name])
        for name in _names(group, without)
    ]


def _default(field: Field[Any]) -> Any:
    assert field.default is not MISSING, f"{field.name} of a group of flags needs a default"
    return field.default


def _names(group: Any, without: Sequence[str]) -> list[str]:
    return [each.name for each in fields(group) if each.name not in without]


def _of_the_model(name: str, text: str, **limits: Any) -> Any:
    return typer.Option(name, help=text, rich_help_panel=MODEL_PANEL, **limits)


def _of_pictures(name: str, text: str) -> Any:
    return typer.Option(name, help=text, rich_help_panel=PICTURE_PANEL)


Trusted = Annotated[bool, _of_the_model("--trusted", "Allow a file that can run code when loaded: pickles, torch files.")]
Returns = Annotated[
    str | None, _of_the_model("--returns", "What the model says: label, probability, logit, percent, score, amount or counts.")
]
Threshold = Annotated[
    str | None, _of_the_model("--threshold", "The smallest number that counts as the class it speaks for; or 'best 100', 'best 10%'.")
]
Classes = Annotated[str | None, _of_the_model("--classes", "The model's classes in its own order, separated by commas.")]
ModelOutput = Annotated[
    int | None, _of_the_model("--model-output", "Which label or amount, counted from 0, of a model that predicts several.", min=0)
]
Preset = Annotated[str | None, _of_the_model("--preset", f"The format in which a URL is spoken to: {', '.join(PRESETS)}.")]


@dataclass(frozen=True)
class ModelFlags:
    """What the command line says of the model; it goes before what the file says."""

    model: Annotated[str | None, _of_the_model("--model", "A model file or URL instead of the file's.")] = None
    trusted: Trusted = False
    returns: Returns = None
    threshold: Threshold = None
    classes: Classes = None
    preset: Preset = None
    model_output: ModelOutput = None

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
            output=self.model_output if self.model_output is not None else source.output,
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


def _given(model: str, trusted: bool) -> ModelSource:
    is_url = model.startswith(("http://", "https://"))
    return ModelSource(url=model, trusted=trusted) if is_url else ModelSource(path=Path(model), trusted=trusted)


@dataclass(frozen=True)
class PictureFlags:
    """What the command line says of twins; it goes before what the file says."""

    editor: Annotated[str | None, _of_pictures("--editor", "What makes twins: a name, or an editor of your own.")] = None
    jury: Annotated[list[str] | None, _of_pictures("--jury", "A reader that confirms twins, as in race=race.onnx; repeat for several.")] = (
        None
    )
    pairs: Annotated[str | None, _of_pictures("--pairs", "A folder of ready-made twins: VALUE/FILE.")] = None
    generator: Annotated[str | None, _of_pictures("--generator", "A latent space of pictures.")] = None
    limit: Annotated[int | None, _of_pictures("--limit", "At most so many pictures, drawn by the seed of the album.")] = None

    def settings(self, trusted: bool) -> dict[str, Any]:
        """As settings of an album, files taken from here; nothing where nothing is said."""
        told: dict[str, Any] = {"editor": self.editor, "pairs": self.pairs, "generator": self.generator}
        found: dict[str, Any] = {name: _from_here(value) for name, value in told.items() if value}
        if self.pairs:
            found["editor"] = ""
        if self.limit is not None:
            check_argument(Count, limit=self.limit)
            found["limit"] = self.limit
        if self.jury:
            parts = [each.partition("=") for each in self.jury]
            if any(not value for _, _, value in parts):
                raise InvalidArgument(f"--jury {list(self.jury)} must be ATTRIBUTE=READER, such as race=race.onnx")
            found["jury"] = {name.strip(): _from_here(value.strip()) for name, _, value in parts}
        return {**found, "trusted": True} if found and trusted else found


def _from_here(value: str) -> str:
    """A file or folder of this place by its whole path; a name stays a name."""
    return str(Path(value).resolve()) if Path(value).exists() else value
