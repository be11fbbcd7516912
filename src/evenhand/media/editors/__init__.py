"""Ways to show the same picture with another attribute, one file each, found by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.contract import Editor, EditorTools, NamedEditor
from evenhand.registry import Registry

if TYPE_CHECKING:
    from evenhand.media.album import Album

EDITORS: Registry[NamedEditor] = Registry("editor", __name__, NamedEditor)


def editor_for(name: str, album: Album, attribute: str, tools: EditorTools) -> Editor:
    """The editor of this name, made for one attribute of an album."""
    kind: Any = EDITORS.entry(name).make
    made: Editor = kind.made(album, attribute, tools)
    return made
