"""What several oracles share."""
