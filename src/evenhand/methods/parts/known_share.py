"""How much of what can be found is in the list: the share of fresh affected people who were known before they were drawn.

Fresh draws come as often as the population has such people, so this is a share of people, not of rows.  It speaks of the plausible ones.
"""

from __future__ import annotations

from dataclasses import dataclass

WORDS = ((0.05, "hardly any"), (0.17, "about a tenth"), (0.29, "about a quarter"), (0.42, "about a third"), (0.58, "about half"),
         (0.71, "about two thirds"), (0.83, "about three quarters"), (0.95, "about nine tenths"))  # fmt: skip


@dataclass
class KnownShare:
    """Counts that forget all but so many draws, about: fewer would be unsure, more would tell of a list that has grown since.

    >>> seen = KnownShare(remembered=2000)
    >>> seen.add(known=50, drawn=100)
    >>> seen.sentence
    'about half of the plausible affected people are in the list'
    """

    remembered: int
    known: float = 0.0
    drawn: float = 0.0
    ever: int = 0
    late_known: float = 0.0
    late: float = 0.0

    def add(self, known: int, drawn: int) -> None:
        """One batch of fresh affected people, and how many of them were known."""
        self.forget(max(0, self.remembered - drawn))
        self.known, self.drawn, self.ever = self.known + known, self.drawn + drawn, self.ever + drawn
        kept = min(1.0, max(0, min(self.remembered, self.ever // 2) - drawn) / max(self.late, 1.0))
        self.late_known, self.late = kept * self.late_known + known, kept * self.late + drawn

    def forget(self, draws: int) -> None:
        """Count what is known so far as so many draws at most."""
        kept = min(1.0, draws / max(self.drawn, 1.0))
        self.known, self.drawn = kept * self.known, kept * self.drawn

    @property
    def share(self) -> float | None:
        """By the later half of all draws, as earlier ones tell of a shorter list; None before anybody affected was drawn."""
        return self.late_known / self.late if self.late else None

    @property
    def is_nearly_all(self) -> bool:
        """Whether enough were drawn to say that nearly all are known."""
        return 2 * self.drawn >= self.remembered and self.known >= WORDS[-1][0] * self.drawn

    def is_nine_tenths(self, draws: int) -> bool:
        """Whether so many draws say that about nine tenths are known, or more."""
        return self.drawn >= draws and self.known >= WORDS[-2][0] * self.drawn

    @property
    def sentence(self) -> str:
        """For a reader."""
        if self.share is None:
            return "nobody knows how many plausible affected people are not in the list"
        words = next((words for most, words in WORDS if self.share < most), "nearly all")
        return f"{words} of the plausible affected people are in the list"
