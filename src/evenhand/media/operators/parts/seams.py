"""Quick marks of a changed region: how its rim differs from edges elsewhere, and whether its noise and detail are those around it."""

from __future__ import annotations

import numpy as np

from evenhand.errors import require
from evenhand.media.scene import Picture, Stencil, box_of

AROUND, SOFT = 14.0, 1.5  # units around a region whose colours it may have, and of blur before colours are compared
FARTHER = 0.4  # levels that a colour counts as more different for each unit that it is farther away
STRANGEST = 95  # percentile of the pixels of a region that tells how strange it is
MOST_COMPARED = 1200  # pixels on each side


def seam_ratio(picture: Picture, region: Stencil) -> float:
    """Mean gradient along the region's rim over that on both sides of it; 1 is a rim that cannot be told, 0/0 counts as 1."""
    cv2 = require("cv2", "image")
    box = box_of(region)
    if box is None:
        return 1.0
    left, top, right, bottom = box.grown(10, (region.shape[0], region.shape[1]))
    grey = picture[top:bottom, left:right].mean(axis=2).astype(np.float32)
    mask = region[top:bottom, left:right].astype(np.uint8)
    slope = np.hypot(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1))
    kernel = np.ones((3, 3), np.uint8)
    rim = (cv2.dilate(mask, kernel) - cv2.erode(mask, kernel)) > 0
    beside = ((cv2.dilate(mask, kernel, iterations=6) - cv2.erode(mask, kernel, iterations=6)) > 0) & ~rim
    low = float(slope[beside].mean()) if beside.any() else 0.0
    return (float(slope[rim].mean()) + 1.0) / (low + 1.0) if rim.any() else 1.0


def noise_ratio(picture: Picture, region: Stencil) -> float:
    """Spread of the fine residual inside over that in the rim outside; 1 is a region with the picture's own grain."""
    cv2 = require("cv2", "image")
    box = box_of(region)
    if box is None:
        return 1.0
    left, top, right, bottom = box.grown(14, (region.shape[0], region.shape[1]))
    grey = picture[top:bottom, left:right].mean(axis=2).astype(np.float32)
    residual = np.abs(grey - cv2.GaussianBlur(grey, (0, 0), 1.0))
    mask = region[top:bottom, left:right]
    around = cv2.dilate(mask.astype(np.uint8), np.ones((13, 13), np.uint8)).astype(bool) & ~mask
    if not around.any():
        return 1.0
    return (float(np.median(residual[mask])) + 0.2) / (float(np.median(residual[around])) + 0.2)


def detail_ratio(picture: Picture, region: Stencil, free: Stencil, reach: int) -> float:
    """Size of the fine detail inside over that of the free pixels within reach; a smear has half of it, and 1 is what is around it."""
    cv2 = require("cv2", "image")
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    detail = (grey - cv2.GaussianBlur(grey, (0, 0), 1.0)) ** 2
    side = 2 * reach + 1
    around = (cv2.dilate(region.astype(np.uint8), np.ones((side, side), np.uint8)) > 0) & ~region & free
    if not around.any() or not region.any():
        return 1.0
    return float(np.sqrt(detail[region].mean() / max(1e-6, float(detail[around].mean()))))


def strangeness(picture: Picture, region: Stencil, free: Stencil, unit: float) -> float:
    """By how much the strangest colours of a region differ from the nearest like ones of the free pixels around it, in levels of Lab."""
    cv2 = require("cv2", "image")
    box = box_of(region)
    if box is None:
        return 0.0
    side = 2 * round(AROUND * unit) + 1
    window = box.grown(side, (region.shape[0], region.shape[1])).pixels
    lab = cv2.cvtColor(cv2.GaussianBlur(picture[window], (0, 0), SOFT * unit), cv2.COLOR_RGB2LAB).astype(np.float32)
    inside = region[window]
    around = (cv2.dilate(inside.astype(np.uint8), np.ones((side, side), np.uint8)) > 0) & free[window] & ~inside
    if not around.any():
        return 0.0
    sides = []
    for part in (inside, around):
        places = np.flatnonzero(part)[:: max(1, int(part.sum()) // MOST_COMPARED)]
        rows, columns = np.divmod(places, part.shape[1])
        sides.append(np.column_stack([lab.reshape(-1, 3)[places], rows / unit, columns / unit]).astype(np.float32))
    apart = np.abs(sides[0][:, None] - sides[1][None])
    cost = apart[..., :3].sum(axis=2) + FARTHER * np.hypot(apart[..., 3], apart[..., 4])
    return float(np.percentile(cost.min(axis=1), STRANGEST))
