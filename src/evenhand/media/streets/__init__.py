"""Synthetic streets, drawn by this package's own code, with exact masks and depth."""
