"""Class-level fairness testing of object recognition."""
