"""Every picture of a page as SVG text: intervals and bars in rows, plots with two axes, heat maps, trees, the constraint graph.

Colours come from the page's style sheet by class, so that a picture follows light and dark; `standalone` makes a file of its own.
Nothing is computed here but the places of marks.
"""
