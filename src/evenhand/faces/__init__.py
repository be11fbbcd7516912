"""Fairness testing of image classifiers: twins from attribute editors, pairs, neurons, adequacy, generation, selection, mending."""

from __future__ import annotations
