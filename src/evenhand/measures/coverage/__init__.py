"""What a model decides, as the paths of a surrogate tree; tests that reach every path; and the properties tested on them."""
