"""AEQUITAS, semi-directed: walks that learn for each attribute which way leads to findings.

Paper: Udeshi, Arora, Chattopadhyay, "Automated Directed Fairness Testing", ASE 2018.

The method, what agrees with the paper and what differs stand in `aequitas`; here only the mode is another.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.methods.aequitas import Aequitas


@dataclass(frozen=True)
class AequitasSemi(Aequitas):
    """Random sampling, then walks that learn which way to step."""

    mode: str = "semi"
