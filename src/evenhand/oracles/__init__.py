"""What decides that an input is treated unfairly; one idea a file."""
