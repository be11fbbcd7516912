"""The look of a self-contained page: one style sheet, tables, and the frame around the parts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; } body { font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; } figure { display: inline-block; margin: .4rem; } figcaption { font-size: .85rem; }
.contact img { image-rendering: pixelated; border-radius: 4px; }
svg { max-width: 520px; border-radius: 4px; } .verdict { font-size: 1.25rem; font-weight: 600; }
"""


def document(title: str, body: str) -> str:
    """A whole page that fetches nothing."""
    about = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f'<!doctype html><html lang="en"><head>{about}<title>{escape(title)}</title>'
    return f"{head}<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>{body}</body></html>"


def table_html(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
