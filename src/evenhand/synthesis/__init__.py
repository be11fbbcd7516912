"""Synthesisers: populations of realistic rows, learnt from data and steered by the user."""
