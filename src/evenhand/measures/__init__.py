"""Measures of models, findings and tables: plain functions."""
