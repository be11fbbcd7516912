"""Skin tones read from drawn portraits whose tone is known, under several lights."""

from __future__ import annotations

import numpy as np

from evenhand.media.portraits.factors import draw_factors, place
from evenhand.media.portraits.painting import render
from evenhand.media.skin_tone import BORDER, skin_tones

LIGHTS = {
    "plain": (1.0, 1.0, 1.0),
    "dim": (0.5, 0.5, 0.5),
    "bright": (1.25, 1.25, 1.25),
    "warm": (1.12, 1.0, 0.75),
    "cool": (0.85, 1.0, 1.1),
}


def tone_figures(count: int, seed: int, size: int = 64) -> dict[str, float]:
    """Of the pictures whose side is sure, the share that is right, in the worst light; the share that is sure; steps within two."""
    factors = draw_factors(count, np.random.default_rng([seed, 31]))
    pictures, tone = render(factors, size), factors[:, place("tone")]
    right, sure, near = [], [], []
    for name, gains in LIGHTS.items():
        read = skin_tones(np.clip(pictures * np.array(gains), 0, 255).astype(np.uint8))
        right.append(float(((read.angle < BORDER) == (tone >= 5))[read.is_sure].mean()))
        sure.append(float(read.is_sure.mean()))
        near.append(float((np.abs(read.steps - 1 - tone) <= 2).mean()))
        print(f"tones in {name} light: {sure[-1]:.1%} sure, of these {right[-1]:.1%} right; step within two {near[-1]:.1%}")
    return {"tone_right_min": min(right), "tone_sure_min": min(sure), "tone_step_within_two_min": min(near)}
