"""What several editors share, and the networks of those that learn."""
