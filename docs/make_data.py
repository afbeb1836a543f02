"""Draws the sheets of images in docs/data.md: ``python docs/make_data.py``."""

import io
from pathlib import Path

import PIL.Image

from unweave.data import load
from unweave.plots import to_bytes
from unweave.reports import dataset_sheet

PICTURES = Path(__file__).parent / "pictures"
SHEETS = {
    "dsprites": ("dsprites", {}),
    "coloredsprites": ("coloredsprites", {}),
    "busysprites-color": ("busysprites", {"ground": "color"}),
    "busysprites-texture": ("busysprites", {"ground": "texture"}),
    "circles": ("circles", {"variant": "xyh_small"}),
    "xysquares": ("xysquares", {}),
    "shapes3d": ("shapes3d", {}),
    "objects3d": ("objects3d", {}),
    "glyphs": ("glyphs", {}),
}

for name, (dataset, options) in SHEETS.items():
    picture = to_bytes(dataset_sheet(load(dataset, **options)), "png")
    with PIL.Image.open(io.BytesIO(picture)) as sheet:
        sheet.convert("RGB").quantize(128).save(PICTURES / f"data-{name}.png", optimize=True)
