"""Every number with its uncertainty: intervals, tests, corrections."""
