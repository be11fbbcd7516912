"""The command line: reads and shows what the other packages compute."""
