"""Pictures: functions from arrays to a matplotlib ``Figure``, and :func:`save`, which writes it to a file."""

from unweave.plots.curves import curve_panels, curves, kl_bars
from unweave.plots.geometry import comparison, geometry, grid_panel
from unweave.plots.images import contact_sheet, image_grid, reconstructions
from unweave.plots.saving import content_name, save, to_bytes
from unweave.plots.style import PALETTE, plane_colors, style
from unweave.plots.traversals import (
    traversal_codes,
    traversal_gif,
    traversal_gif_bytes,
    traversal_labels,
    traversal_webp_bytes,
    traversals,
)

__all__ = [
    "PALETTE",
    "comparison",
    "content_name",
    "contact_sheet",
    "curve_panels",
    "curves",
    "geometry",
    "grid_panel",
    "image_grid",
    "kl_bars",
    "plane_colors",
    "reconstructions",
    "save",
    "style",
    "to_bytes",
    "traversal_codes",
    "traversal_gif",
    "traversal_gif_bytes",
    "traversal_labels",
    "traversal_webp_bytes",
    "traversals",
]
