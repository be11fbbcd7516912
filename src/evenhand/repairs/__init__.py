"""Ways to mend a model, each one file with a frozen dataclass that has `mend`, and an honest comparison of what they do."""
