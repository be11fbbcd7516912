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
        owner, new = self._claim(keys)
        fresh = keys if new.all() else keys[new]
        end = self.size + len(fresh)
        places = np.arange(self.size, end)
        self.keys[self.size : end] = fresh
        self._slots[self._slot_of_new] = places
        self.size = end
        if len(fresh) == len(keys):  # the usual case of a random search
            return places, new
        every = np.empty(len(keys), dtype=np.intp)
        every[new] = places
        within, known = owner <= -2, owner >= 0
        every[within] = every[-2 - owner[within]]
        every[known] = owner[known]
        return every, new

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

    def _claim(self, keys: Keys) -> tuple[Index, Mask]:
        """Who holds each key: a place (>= 0), or -2 - i for the i-th key of this very batch, which is then new."""
        slots, own = self._home(keys), -2 - np.arange(len(keys))
        owner = own.copy()
        held = self._occupy(slots, own)
        rest = np.flatnonzero(held != own)
        held = held[rest]
        while rest.size:
            same = self._keys_of(held, keys) == keys[rest]
            owner[rest[same]] = held[same]
            rest = rest[~same]
            slots[rest] = (slots[rest] + 1) & (len(self._slots) - 1)
            held = self._occupy(slots[rest], own[rest])
            taken = held != own[rest]
            rest, held = rest[taken], held[taken]
        new = owner == own
        self._slot_of_new = slots if new.all() else slots[new]
        return owner, new

    def _occupy(self, slots: Index, marks: Index) -> NDArray[np.int32]:
        """Put each mark where its slot is empty, and say what every slot holds then."""
        empty = self._slots[slots] == _EMPTY
        # Written backwards, so that of equal keys the first one stays.
        self._slots[slots[empty][::-1]] = marks[empty][::-1]
        return self._slots[slots]

    def _keys_of(self, held: NDArray[np.int32], batch: Keys) -> Keys:
        fresh = held <= -2
        return np.where(fresh, batch[np.where(fresh, -2 - held, 0)], self.keys[np.where(fresh, 0, held)])

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
