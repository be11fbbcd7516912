"""The contact sheet: pairs with both answers and what differs, widest gap first, as a picture and as a piece of a page."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index
from evenhand.contract import Pictures
from evenhand.errors import InvalidArgument
from evenhand.measures.picture_pairs import JudgedPairs
from evenhand.media.album import as_bytes
from evenhand.media.png import data_uri, sheet


def widest(judged: JudgedPairs, count: int, only_unfair: bool = True) -> Index:
    """The pairs to show: largest gap first."""
    if count < 1:
        raise InvalidArgument(f"count={count!r} must be at least 1")
    shown = np.flatnonzero(judged.unfair) if only_unfair else np.arange(len(judged))
    return shown[np.argsort(-judged.gap[shown], kind="stable")][:count]


def difference(first: Pictures, second: Pictures) -> NDArray[np.uint8]:
    """What differs: grey where nothing does, lighter or darker where the second picture is."""
    apart = second.astype(np.float32) - first.astype(np.float32)
    return np.asarray(np.clip(127.5 + 0.5 * apart, 0, 255), dtype=np.uint8)


def contact_picture(judged: JudgedPairs, count: int = 12, columns: int = 4) -> NDArray[np.uint8]:
    """One picture: first, second and difference of each pair side by side."""
    shown = widest(judged, count)
    first, second = as_bytes(judged.pairs.first[shown]), as_bytes(judged.pairs.second[shown])
    strips = np.concatenate([first, second, difference(first, second)], axis=2)
    if not len(strips):
        raise InvalidArgument("no pair is unfair: there is nothing to show")
    return sheet(strips, columns, gap=4)


def contact_html(judged: JudgedPairs, count: int = 24, scale: int = 2) -> str:
    """Figures for a page, each with both answers in words."""
    shown = widest(judged, count)
    if not len(shown):
        return "<p>No pair got two different labels.</p>"
    return '<div class="contact">' + "".join(_figure(judged, int(place), scale) for place in shown) + "</div>"


def _figure(judged: JudgedPairs, place: int, scale: int) -> str:
    first, second = as_bytes(judged.pairs.first[place : place + 1]), as_bytes(judged.pairs.second[place : place + 1])
    strip = np.concatenate([first[0], second[0], difference(first, second)[0]], axis=1)
    size = f'width="{strip.shape[1] * scale}" height="{strip.shape[0] * scale}"'
    said = [f"{escape(judged.classes[int(s[place].argmax())])} {s[place].max():.0%}" for s in (judged.first, judged.second)]
    words = f"{said[0]} &rarr; {said[1]}, gap {judged.gap[place]:.2f}"
    alternative = escape(f"pair {place}: {said[0]} and {said[1]}, differing in {judged.pairs.attribute}")
    return f'<figure><img src="{data_uri(strip)}" {size} alt="{alternative}"><figcaption>#{place}: {words}</figcaption></figure>'
