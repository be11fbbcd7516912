"""Files that are whole, private where they hold people's rows, and sealed so that a changed bit is noticed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from evenhand.errors import StoreError

SEAL = "checksum"
BLANK = "0" * 64
LINE_DIGITS = 16
_FIRST_TEXT = re.compile(r'\{\s*"([^"]*)":\s*"([^"]*)"')
MOST_JSON_BYTES = 1 << 30
MOST_TEXT_BYTES = 1 << 26
KEY_BYTES = 32
DEEPEST = 200
"""So deep JSON may nest; what Evenhand writes is far from it, and Python's own reader would exhaust the stack."""


def write_whole(path: Path, content: str | bytes, private: bool = False) -> None:
    """The file appears whole or not at all, and is on the disk when this returns; a private one is for its owner only."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not private:
            Path(temporary).chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _settle(path.parent)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name beside the path to fill; it takes the path's place when the block ends well, and is gone otherwise."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _settle(path.parent)


def own_seal(content: bytes) -> str:
    """A seal that only this user on this computer can make: what a stranger packed into a folder does not have it."""
    return hmac.new(_own_key(), content, hashlib.sha256).hexdigest()


@cache
def _own_key() -> bytes:
    """This user's secret, made when it is first needed; one for this process alone where none can be kept."""
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        file = private_folder(Path(state) / "evenhand") / "seal.key"
        with suppress(FileExistsError), os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
            new.write(secrets.token_bytes(KEY_BYTES))
        key = file.read_bytes()
    except (OSError, RuntimeError):  # no home, or no room in it
        key = b""
    return key if len(key) == KEY_BYTES else secrets.token_bytes(KEY_BYTES)


def private_folder(path: Path) -> Path:
    """The folder, made for its owner only where it is new, and so are the folders above it that are new."""
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def _settle(folder: Path) -> None:
    """The folder's own entry on the disk, where the system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def digest_of(content: bytes) -> str:
    """Sixty-four hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def sealed(content: Mapping[str, Any], default: Callable[[object], object] | None = None) -> str:
    """JSON whose first entry is the checksum of all the rest, spaces included."""
    text = json.dumps({SEAL: BLANK, **content}, indent=2, default=default) + "\n"
    return text.replace(BLANK, digest_of(text.encode()), 1)


def unsealed(data: bytes, path: Path, required: bool = True) -> Any:
    """What `sealed` wrote; StoreError where a single bit differs.  Where no seal is required, JSON without one is read as it is."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise StoreError(f"{path} is not readable as JSON ({fault}); restore it from a copy, or make it again") from None
    first = _FIRST_TEXT.match(text)
    has_seal = first is not None and (first.group(1) == SEAL or re.fullmatch(r"[0-9a-f]{64}", first.group(2)) is not None)
    content = parsed_json(text, path)
    if not has_seal and not required:
        return content
    if not has_seal or first is None or not isinstance(content, dict):
        raise StoreError(f"{path} has no checksum, so it is damaged or of an earlier release; restore it from a copy, or make it again")
    blank = text[: first.start(2)] + BLANK + text[first.end(2) :]
    if first.group(1) != SEAL or first.group(2) != digest_of(blank.encode()):
        raise StoreError(f"{path} is damaged: its checksum does not fit its content; restore it from a copy, or make it again")
    del content[SEAL]
    return content


def sealed_line(content: Mapping[str, Any]) -> str:
    """One line of JSON that ends in the checksum of what stands before it."""
    told = json.dumps(content)
    return json.dumps({**content, SEAL: digest_of(told.encode())[:LINE_DIGITS]}) + "\n"


def unsealed_line(line: str, path: Path) -> dict[str, Any]:
    """What `sealed_line` wrote; StoreError where a single bit differs."""
    content = parsed_json(line, path)
    seal = content.pop(SEAL, None) if isinstance(content, dict) else None
    if seal is None or sealed_line(content).rstrip("\n") != line.rstrip("\n"):
        raise StoreError(f"{path} is damaged: the checksum of a line does not fit it; restore it from a copy")
    return content  # type: ignore[no-any-return]


def parsed_json(text: str, path: Path) -> Any:
    """JSON that nests no deeper than ours; StoreError, in one line, otherwise."""
    try:
        check_depth(text)
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise StoreError(f"{path} is not readable as JSON ({fault}); restore it from a copy, or make it again") from None


def check_depth(text: str, deepest: int = DEEPEST) -> None:
    """ValueError where brackets outside of texts nest deeper."""
    if max(text.count("["), text.count("{")) <= deepest // 2:
        return
    depth = 0
    for bracket in re.finditer(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', text):
        found = bracket.group()
        depth += (found in "[{") - (found in "]}")
        if depth > deepest:
            raise ValueError(f"it nests deeper than {deepest}")


def read_bytes(path: Path, most: int = MOST_JSON_BYTES) -> bytes:
    """The file's content; StoreError, in one line, where it cannot be read or is far too large."""
    try:
        if path.stat().st_size > most:
            raise StoreError(f"{path} has {path.stat().st_size:,} bytes; at most {most:,} are read")
        return path.read_bytes()
    except OSError as fault:
        raise StoreError(f"cannot read {path}: {fault.strerror or fault}") from None


def read_utf8(path: Path, most: int = MOST_TEXT_BYTES) -> str:
    """The file's text; StoreError, in one line, where there is none."""
    data = read_bytes(path, most)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        raise StoreError(f"{path}:{line}: byte {data[fault.start]:#04x} is not UTF-8; save the file as UTF-8") from None


def read_sealed(path: Path, required: bool = True) -> Any:
    """The content of a sealed file."""
    return unsealed(read_bytes(path), path, required)


def below(folder: Path, name: str) -> Path | None:
    """The path of a name that a file gives, which must stay below the folder, links followed; None where it does not."""
    if "\0" in name or ("\\" in name and os.name == "nt"):
        return None
    path = folder / name
    try:
        return path if path.resolve().is_relative_to(folder.resolve()) else None
    except (OSError, RuntimeError, ValueError):  # a circle of links, or a name that is far too long
        return None


@contextmanager
def locked(lock: Path) -> Iterator[None]:
    """Hold a lock file for this process; it ends with the process however that ends, whoever has its number later."""
    handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if not _held(handle):
            owner = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
            raise StoreError(f"{lock.parent} is in use by process {owner}; wait for it, or end it")
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def _held(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # a system without it: the last one to come wins, as everywhere there
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
