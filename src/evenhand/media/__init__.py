"""What a row shows: a line of a table, a picture under an editor's hand, a drawn portrait, a street with one change, a sentence."""
