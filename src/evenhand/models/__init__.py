"""Models under test: what they can do, the gate that counts, and one adapter per kind of model."""
