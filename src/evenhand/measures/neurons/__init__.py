"""Which hidden neurons react to what is protected: measured, drawn, covered, zeroed."""

from __future__ import annotations

from evenhand.measures.neurons.activated import Coverage, coverage
from evenhand.measures.neurons.bias import BiasMap, LayerBias, measure_bias
from evenhand.measures.neurons.curve import Curve, as_curve
from evenhand.measures.neurons.zeroing import Effect, zeroing_effect

__all__ = ["BiasMap", "Coverage", "Curve", "Effect", "LayerBias", "as_curve", "coverage", "measure_bias", "zeroing_effect"]
