"""Pages over a folder of results: what was run, what goes on, and what the model says to a change.  Served to this machine only."""
