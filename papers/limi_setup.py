"""LIMI's overview figure."""

from __future__ import annotations

from setups import overview

figure_1 = overview("limi-figure-1")
