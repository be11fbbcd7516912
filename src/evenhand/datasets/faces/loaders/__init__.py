"""Albums from a user's own folders: one file per layout.  Reading pictures needs pillow, from the extra `image`."""

from __future__ import annotations

from evenhand.datasets.faces.loaders.celeba import celeba
from evenhand.datasets.faces.loaders.fairface import fairface
from evenhand.datasets.faces.loaders.folder import folder
from evenhand.datasets.faces.loaders.lfw import lfw
from evenhand.datasets.faces.loaders.utkface import utkface

__all__ = ["celeba", "fairface", "folder", "lfw", "utkface"]
