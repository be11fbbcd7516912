"""Albums from a user's own folders: one file per layout.  Reading pictures needs pillow, from the extra `image`."""

from __future__ import annotations

from evenhand.datasets.albums.celeba import celeba
from evenhand.datasets.albums.class_folders import folder
from evenhand.datasets.albums.fairface import fairface
from evenhand.datasets.albums.lfw import lfw
from evenhand.datasets.albums.utkface import utkface

__all__ = ["celeba", "fairface", "folder", "lfw", "utkface"]
