"""Scenes from data sets in common formats."""
