"""Latent spaces: pictures as points in a space of few dimensions, and back."""

from __future__ import annotations
