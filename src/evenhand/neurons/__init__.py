"""Which hidden neurons react to what is protected: measured, drawn, covered, zeroed."""

from __future__ import annotations

from evenhand.neurons.bias import BiasMap, LayerBias, measure_bias
from evenhand.neurons.coverage import Coverage, coverage
from evenhand.neurons.curve import Curve, as_curve
from evenhand.neurons.zeroing import Effect, zeroing_effect

__all__ = ["BiasMap", "Coverage", "Curve", "Effect", "LayerBias", "as_curve", "coverage", "measure_bias", "zeroing_effect"]
