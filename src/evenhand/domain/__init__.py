"""What an input may be, which part of it is protected, and how tables and files become that."""
