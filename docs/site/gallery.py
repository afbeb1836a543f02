"""The gallery: pictures that open live explorers, of the kept models and of what the tutorials trained."""

import hashlib
import shutil
from pathlib import Path

from unweave.explorer import write_explorer
from unweave.models import kept

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = """\
# Gallery

A picture opens the live explorer of a model: drag a point on the latent plane, move the sliders, drop a picture of
your own. Every page is one file without a server; [how to use it](docs/explorer.md).

<div class="gallery">
{cards}
</div>

The kept models are in the repository ([models](models/README.md)); `unweave explore NAME` makes such a page of each,
and of every run. The others are what the [tutorials](tutorials/index.md) trained, in seconds, when this site was built:
compare what you see of a model that was trained well and of one that was not.
"""


def page(build: Path, extra: Path) -> str:
    """The page, after its explorers are made."""
    cards = [_kept_model(name, build, extra) for name in sorted(kept())]
    cards += _of_tutorials(extra)
    return TEXT.format(cards="\n".join(cards))


def _kept_model(name: str, build: Path, extra: Path) -> str:
    folder = ROOT / "models" / name
    made = hashlib.sha256((folder / "model.safetensors").read_bytes())
    for path in sorted((ROOT / "src" / "unweave" / "explorer").rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            made.update(path.read_bytes())
    file = build / f"{name}-{made.hexdigest()[:16]}.html"
    if not file.exists():
        build.mkdir(parents=True, exist_ok=True)
        write_explorer([str(folder)], file)
    place = extra / "gallery"
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, place / f"explore-{name}.html")
    shutil.copy(folder / "traversal.png", place / f"{name}.png")
    return _card(f"gallery/explore-{name}.html", f"gallery/{name}.png", name, "a kept model; open, and drag")


def _of_tutorials(extra: Path) -> list[str]:
    made = []
    for file in sorted((extra / "tutorials").glob("explore-*.html")):
        name = file.stem.removeprefix("explore-")
        picture = ROOT / "docs" / "pictures" / f"gallery-{name}.png"
        if picture.exists():
            shutil.copy(picture, extra / "gallery" / picture.name)
            made.append(
                _card(f"tutorials/{file.name}", f"gallery/{picture.name}", name, "trained by a tutorial")
            )
    return made


def _card(address: str, picture: str, name: str, text: str) -> str:
    return f'<a href="{address}"><img src="{picture}" alt="{name}"><strong>{name}</strong><span>{text}</span></a>'
