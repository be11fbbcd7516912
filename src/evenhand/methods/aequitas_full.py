"""AEQUITAS, fully directed: walks that learn which attribute leads to findings, and which way.

Paper: Udeshi, Arora, Chattopadhyay, "Automated Directed Fairness Testing", ASE 2018.

The method, what agrees with the paper and what differs stand in `aequitas`; here only the mode is another.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.methods.aequitas import Aequitas


@dataclass(frozen=True)
class AequitasFull(Aequitas):
    """Random sampling, then walks that learn which attribute to move and which way."""

    mode: str = "full"
