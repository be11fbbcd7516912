"""Parts of a test of pictures that a user brings: an object, `module:object`, an ONNX file or a torch file, as a function of arrays.

What can run code when it is loaded needs the same trust as a model does.  Nets take and give colours first, (n, 3, height, width), with
values from 0 to 1; Python functions take and give pictures as bytes, (n, height, width, 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures
from evenhand.errors import InvalidArgument, ModelFailed, WrongAnswer
from evenhand.models.adapters.torch_modules import is_torch
from evenhand.models.inputs import first_line
from evenhand.models.model_files import PICKLES, TORCH, load_pickle, load_torch
from evenhand.models.onnx_session import NUMPY_TYPES, OnnxSession, open_onnx
from evenhand.models.python_objects import imported, is_python_name

AT_ONCE = 64
EDITOR_INPUTS = 2
"""Pictures, and the code of the value that each is to show."""
MARGIN, OUTSIDE = 0.05, 0.2
"""A net may overshoot 0 to 1 a little, or somewhat in a few pixels; beyond this in more than this share its values mean something else."""


@dataclass(frozen=True)
class PartWishes:
    """What a part is to be, for errors; where relative paths begin; and whether files that can run code are trusted."""

    what: str
    base: Path = Path()
    trusted: bool = False


def is_own_part(given: object) -> bool:
    """Whether this names something of the user's, and not something of the package's: an object, `module:object`, or a file."""
    return not isinstance(given, str) or is_python_name(given) or Path(given).suffix.lower() in (".onnx", *TORCH, *PICKLES)


def opened_part(given: object, wishes: PartWishes) -> Any:
    """The object itself: imported, or opened from its file."""
    if not isinstance(given, str | Path):
        return given
    if is_python_name(given):
        return imported(str(given), wishes.what)
    file = wishes.base / given
    if not file.is_file():
        raise InvalidArgument(f"{wishes.what}={str(given)!r} is not there; expected module:object, an .onnx file or a torch file")
    if file.suffix.lower() == ".onnx":
        return open_onnx(file)
    if file.suffix.lower() in TORCH:
        return load_torch(file, wishes.trusted)
    if file.suffix.lower() in PICKLES:
        return load_pickle(file, wishes.trusted)
    raise InvalidArgument(
        f"{wishes.what}={str(given)!r} has the ending {file.suffix!r}; expected .onnx, {', '.join(TORCH)} or module:object"
    )


def part_name(given: object) -> str:
    """What a reader sees."""
    return str(given) if isinstance(given, str | Path) else getattr(given, "__name__", type(given).__name__)


def net_function(part: Any) -> Callable[..., NDArray[Any]] | None:
    """A net as a function of float arrays; None for what is no net."""
    if isinstance(part, OnnxSession):
        return lambda *arrays: _asked_session(part, arrays)
    return (lambda *arrays: _asked_module(part, arrays)) if is_torch(part) else None


def takes_values(part: Any) -> bool:
    """Whether a net takes the wanted value beside the picture."""
    if isinstance(part, OnnxSession):
        return len(part.inputs) > 1
    import inspect

    forward = getattr(part, "forward", part)
    script = getattr(forward, "schema", None)  # of a TorchScript program, which Python's inspection sees as (*args, **kwargs)
    if script is not None:
        return len([one for one in script.arguments if one.name != "self" and not one.has_default_value()]) > 1
    try:
        return len([one for one in inspect.signature(forward).parameters.values() if one.default is one.empty]) > 1
    except (TypeError, ValueError):
        return False


def edits_of(part: Any, what: str = "editor") -> Callable[[Pictures, Sequence[str], NDArray[np.int64]], Pictures]:
    """A part as a function (pictures, wanted values, their codes) to pictures as bytes."""
    net = net_function(part)
    if net is None and not callable(part):
        raise InvalidArgument(f"{what} is a {type(part).__name__}; expected a function (pictures, values) -> pictures, or a net")
    if isinstance(part, OnnxSession) and len(part.inputs) > EDITOR_INPUTS:
        names = ", ".join(port.name for port in part.inputs)
        raise InvalidArgument(f"{what} takes {len(part.inputs)} inputs ({names}); expected the pictures, and at most the code of the value")
    has_values = net is not None and takes_values(part)

    def edit(pictures: Pictures, values: Sequence[str], codes: NDArray[np.int64]) -> Pictures:
        if net is None:
            given = np.asarray(called_part(part, what, pictures, list(values)))
            return checked_pictures(in_bytes(given, what) if pictures.max() > 1 else given, pictures.shape, what)
        inputs = np.ascontiguousarray(np.moveaxis(pictures.astype(np.float32) / 255.0, 3, 1))
        given = net(inputs, codes) if has_values else net(inputs)
        return checked_pictures(from_net(given, what), pictures.shape, what)

    return edit


def in_bytes(given: NDArray[Any], what: str) -> NDArray[Any]:
    """What a Python function gave, unless its values go from 0 to 1."""
    if given.dtype.kind == "f" and given.size and given.max() <= 1.0:
        raise WrongAnswer(f"{what} gave values up to {given.max():.3g}; expected 0 to 255, as pictures have them")
    return given


def from_net(given: NDArray[Any], what: str) -> NDArray[Any]:
    """What a net gave, colours last and up to 255, unless its values are plainly no shares from 0 to 1."""
    if given.ndim != len("nchw"):
        raise WrongAnswer(f"{what} gave an array of shape {given.shape}; expected (n, 3, height, width)")
    if given.size and (float(np.mean(given < -MARGIN)) > OUTSIDE or float(np.mean(given > 1 + MARGIN)) > OUTSIDE):
        cure = "(x + 1) / 2" if given.max() <= 1 + MARGIN else "x / 255"
        raise WrongAnswer(f"{what} gave values from {given.min():.3g} to {given.max():.3g}; expected 0 to 1: let it end with {cure}")
    return np.moveaxis(given * 255.0, 1, 3)


def checked_pictures(given: Any, shape: tuple[int, ...], what: str) -> NDArray[np.uint8]:
    """Pictures of this shape as bytes; anything else is refused in words."""
    pictures = np.asarray(given)
    if pictures.shape != shape:
        raise WrongAnswer(f"{what} gave pictures of shape {pictures.shape} for {shape}; expected (n, height, width, 3) as they came")
    if not np.isfinite(pictures).all():
        raise WrongAnswer(f"{what} gave a pixel that is no finite number")
    clipped: NDArray[np.uint8] = np.clip(np.rint(pictures), 0, 255).astype(np.uint8)
    return clipped


def called_part(function: Any, what: str, *arguments: Any) -> Any:
    """What a part of the user's answers; its exceptions are told in one line with what it is."""
    try:
        return function(*arguments)
    except Exception as fault:  # foreign code
        raise ModelFailed(f"{what} raised {type(fault).__name__}: {first_line(fault)}") from fault


def _asked_session(session: OnnxSession, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """In portions; whole batches only where the file takes one input, since every input must have as many rows."""
    parts = []
    size = session.fixed_rows or AT_ONCE
    for at in range(0, len(arrays[0]), size):
        part = [each[at : at + size] for each in arrays]
        missing = (session.fixed_rows or 0) - len(part[0])
        filled = [np.concatenate([each, np.repeat(each[-1:], missing, axis=0)]) if missing > 0 else each for each in part]
        feed = {port.name: each.astype(NUMPY_TYPES.get(port.type, np.float32)) for port, each in zip(session.inputs, filled, strict=False)}
        parts.append(np.asarray(session.run(feed)[0])[: len(part[0])])
    return np.concatenate(parts)


def _asked_module(module: Any, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    import torch

    from evenhand.models.torch_training import set_mode

    parts = []
    set_mode(module, False)
    with torch.inference_mode():
        for at in range(0, len(arrays[0]), AT_ONCE):
            tensors = [torch.from_numpy(np.ascontiguousarray(each[at : at + AT_ONCE])) for each in arrays]
            parts.append(called_part(module, "the net", *tensors).cpu().numpy())
    return np.concatenate(parts)
