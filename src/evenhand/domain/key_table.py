"""Which keys have been seen before: an open-addressing hash table whose every step is an array operation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Keys, Mask

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_EMPTY = -1


class KeyTable:
    """Gives each distinct key its place: 0 for the first key ever added, 1 for the second, and so on."""

    def __init__(self, expected: int = 1 << 11) -> None:
        self.size = 0
        self.keys: Keys = np.empty(expected, dtype=np.uint64)
        self._slots = np.full(1 << (3 * expected - 1).bit_length(), _EMPTY, dtype=np.int32)

    def add(self, keys: Keys) -> tuple[Index, Mask]:
        """The place of every key, and whether this is its first appearance."""
        self._reserve(len(keys))
        start, end = self.size, self.size + len(keys)
        self.keys[start:end] = keys  # as if all were new, which is the usual case of a random search
        owner, slots = self._claim(keys)
        own = np.arange(start, end)
        new: Mask = owner == own
        if new.all():
            self.size = end
            return own, new
        return self._closed_up(keys, owner, slots, new), new

    def _closed_up(self, keys: Keys, owner: NDArray[np.int32], slots: Index, new: Mask) -> Index:
        """The places, new keys moved together so that none is left empty where a key was known."""
        start, fresh = self.size, keys[new]
        self.size = start + len(fresh)
        places = np.arange(start, self.size)
        self.keys[start : self.size] = fresh
        self._slots[slots[new]] = places
        every = np.empty(len(keys), dtype=np.intp)
        every[new] = places
        within, known = (owner >= start) & ~new, owner < start
        every[within] = every[owner[within] - start]
        every[known] = owner[known]
        return every

    def find(self, keys: Keys) -> Index:
        """The place of every key; -1 for one never added."""
        slots = self._home(keys)
        places = np.full(len(keys), -1, dtype=np.intp)
        pending = np.arange(len(keys))
        while pending.size:
            held = self._slots[slots[pending]]
            met = held >= 0
            pending, held = pending[met], held[met]
            same = self.keys[held] == keys[pending]
            places[pending[same]] = held[same]
            pending = pending[~same]
            slots[pending] = (slots[pending] + 1) & (len(self._slots) - 1)
        return places

    def _claim(self, keys: Keys) -> tuple[NDArray[np.int32], Index]:
        """Who holds each key, by place: a key of this very batch that is new holds the place that it was given; and each key's slot."""
        slots, own = self._home(keys), np.arange(self.size, self.size + len(keys), dtype=np.int32)
        owner = own.copy()
        held = self._occupy(slots, own)
        rest = np.flatnonzero(held != own)
        held = held[rest]
        while rest.size:
            same = self.keys[held] == keys[rest]
            owner[rest[same]] = held[same]
            rest = rest[~same]
            slots[rest] = (slots[rest] + 1) & (len(self._slots) - 1)
            held = self._occupy(slots[rest], own[rest])
            taken = held != own[rest]
            rest, held = rest[taken], held[taken]
        return owner, slots

    def _occupy(self, slots: Index, marks: NDArray[np.int32]) -> NDArray[np.int32]:
        """Put each mark where its slot is empty, and say what every slot holds then."""
        empty = self._slots[slots] == _EMPTY
        # Written backwards, so that of equal keys the first one stays.
        self._slots[slots[empty][::-1]] = marks[empty][::-1]
        return self._slots[slots]

    def _home(self, keys: Keys) -> Index:
        bits = np.uint64(64 - (len(self._slots).bit_length() - 1))
        return ((keys * _SPREAD) >> bits).astype(np.intp)

    def _reserve(self, more: int) -> None:
        """Keep the table at most a third full: longer probe sequences cost more than the memory."""
        needed = self.size + more
        if needed > len(self.keys):
            self.keys = np.concatenate([self.keys[: self.size], np.empty(2 * needed - self.size, dtype=np.uint64)])
        if 3 * needed > len(self._slots):
            self._slots = np.full(1 << (4 * needed - 1).bit_length(), _EMPTY, dtype=np.int32)
            self._rebuild()

    def _rebuild(self) -> None:
        keys = self.keys[: self.size]
        slots = self._home(keys)
        pending = np.arange(self.size)
        while pending.size:
            free = self._slots[slots[pending]] == _EMPTY
            self._slots[slots[pending[free]]] = pending[free]
            pending = pending[self._slots[slots[pending]] != pending]
            slots[pending] = (slots[pending] + 1) & (len(self._slots) - 1)
