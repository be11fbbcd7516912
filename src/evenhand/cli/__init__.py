"""The command line: reads and shows what the other packages compute."""

import os

# Before numpy is loaded: a table's arrays are touched once each, and virtual machines clear a huge page slowly (a third of a scan's start).
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
