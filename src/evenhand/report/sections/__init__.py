"""The sections of a page: each file makes one from a result, or says that the result has nothing for it."""
