"""What several benchmark scripts share, and what is too long for one of them; nothing here is run by itself."""
