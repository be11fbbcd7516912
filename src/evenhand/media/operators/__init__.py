"""Mutations that keep a picture believable."""
