"""Which keys have been seen before: an open-addressing hash table whose every step is an array operation."""

from __future__ import annotations

import numpy as np

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
        first = np.flatnonzero(new)
        end = self.size + len(first)
        places = np.arange(self.size, end)
        self.keys[self.size : end] = keys[first]
        self._slots[self._slot_of_new] = places
        self.size = end
        if len(first) == len(keys):  # the usual case of a random search
            return places, new
        every = np.empty(len(keys), dtype=np.intp)
        every[first] = places
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
        slots, table = self._home(keys), self._slots
        owner = np.empty(len(keys), dtype=np.int64)
        new = np.zeros(len(keys), dtype=bool)
        pending = np.arange(len(keys))
        while pending.size:
            here = slots[pending]
            claimers = pending[table[here] == _EMPTY]
            # Written backwards, so that of equal keys the first one stays.
            table[slots[claimers[::-1]]] = (-2 - claimers)[::-1]
            held = table[here]
            mine = held == -2 - pending
            new[pending[mine]] = True
            owner[pending[mine]] = held[mine]
            pending, held = pending[~mine], held[~mine]
            same = self._keys_of(held, keys) == keys[pending]
            owner[pending[same]] = held[same]
            pending = pending[~same]
            slots[pending] = (slots[pending] + 1) & (len(table) - 1)
        self._slot_of_new = slots[new]
        return owner, new

    def _keys_of(self, held: Index, batch: Keys) -> Keys:
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
