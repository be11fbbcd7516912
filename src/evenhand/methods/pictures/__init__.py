"""Methods that turn fair pairs into unfair ones by changing both pictures alike: RG, GG, GI, NeuronFair's and LIMI's image versions."""

from __future__ import annotations
