"""Ways to show the same picture with another attribute: exact re-rendering, CycleGAN, FGSM, reflection in a latent space."""

from __future__ import annotations
