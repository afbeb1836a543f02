"""Make a folder of pictures as people have them: of many sizes and kinds, with labels, notes and a broken file.

    python examples/make_photos.py photos [--count 60]

Each picture shows a ball or a box of some colour at some place before a wall. ``labels.csv`` says which.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageDraw

COLOURS = {"red": (214, 60, 50), "green": (60, 160, 75), "blue": (55, 95, 200)}
SIZES = ((96, 96), (120, 90), (90, 140), (64, 64), (200, 150))


def picture(rng: np.random.Generator) -> tuple[PIL.Image.Image, dict[str, str]]:
    """One picture and its labels."""
    width, height = SIZES[rng.integers(len(SIZES))]
    side = min(width, height)
    kind, colour = str(rng.choice(["ball", "box"])), str(rng.choice(list(COLOURS)))
    x, y = rng.uniform(-0.25, 0.25, 2) * side + (width / 2, height / 2)
    radius = rng.uniform(0.12, 0.22) * side
    light = rng.uniform(0.5, 1)
    wall = np.linspace(235, 150, height)[:, None, None] * light * np.array([0.95, 0.98, 1.0])
    image = PIL.Image.fromarray(np.broadcast_to(wall, (height, width, 3)).astype(np.uint8))
    draw = PIL.ImageDraw.Draw(image)
    draw.rectangle((0, int(0.8 * height), width, height), fill=tuple(int(light * c) for c in (120, 95, 70)))
    corners = (x - radius, y - radius, x + radius, y + radius)
    fill = tuple(int(light * c) for c in COLOURS[colour])
    (draw.ellipse if kind == "ball" else draw.rectangle)(corners, fill=fill)
    return image, {"kind": kind, "colour": colour, "light": f"{light:.3f}"}


def make(folder: Path, count: int, seed: int = 0) -> None:
    """Write the pictures, their labels and what else lies in such a folder."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for k in range(count):
        image, labels = picture(rng)
        kinds = {7: "grey.png", 11: "clear.png", 3: "small.webp"}
        ending = next((name for step, name in kinds.items() if k % step == 0), "photo.jpg")
        name = f"{k:03}-{ending}"
        image = image.convert("L") if "grey" in name else image
        if "clear" in name:
            image.putalpha(PIL.Image.linear_gradient("L").resize(image.size))
        image.save(folder / name)
        rows.append({"file": name, **labels})
    with (folder / "labels.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    (folder / "notes.txt").write_text("taken in the studio\n")
    whole = (folder / rows[1]["file"]).read_bytes()
    (folder / "broken.jpg").write_bytes(whole[: len(whole) // 3])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=60)
    asked = parser.parse_args()
    make(asked.folder, asked.count)
    print(f"{asked.count} pictures in {asked.folder}")
