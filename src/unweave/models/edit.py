"""Another value for some latents of an image."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave import plots
from unweave.errors import UnweaveError
from unweave.plots.images import as_rgb

if TYPE_CHECKING:
    from unweave.models.trained import TrainedModel


@dataclass(frozen=True)
class Edit:
    """An image, what the model makes of it, and what it makes of the changed code; codes are ``(latents,)``.

    ``changed`` has the latents that were changed.

    Example:
        >>> image, code = np.zeros((1, 8, 8), np.float32), np.zeros(2, np.float32)
        >>> Edit(image, image, image, code, code + 1, {0: "z0"}).lines()
        ['z0: +0.00 -> +1.00']
    """

    original: NDArray[Any]
    before: NDArray[np.float32]
    after: NDArray[np.float32]
    code: NDArray[np.float32]
    changed_code: NDArray[np.float32]
    changed: Mapping[int, str]

    def lines(self) -> list[str]:
        """What was changed, a line for each latent."""
        return [
            f"{name}: {self.code[j]:+.2f} -> {self.changed_code[j]:+.2f}" for j, name in self.changed.items()
        ]

    def save(self, path: Path) -> Path:
        """The three images side by side as png, svg or pdf."""
        rgb = np.stack([as_rgb(self.original), as_rgb(self.before), as_rgb(self.after)])
        return plots.save(
            plots.image_grid(np.moveaxis(rgb, -1, -3)[None], column_labels=["image", "model", "edited"]), path
        )


def read_changes(words: Sequence[str]) -> dict[str, str]:
    """What words such as ``z3=1.5``, ``rotation+=0.5`` or ``z0-=1`` say: a latent, and its new value or a step.

    Example:
        >>> read_changes(["z3=+1.5", "rotation-=0.5"])
        {'z3': '1.5', 'rotation': '-=0.5'}
    """
    changes: dict[str, str] = {}
    for word in words:
        found = re.fullmatch(r"\s*(.+?)\s*(\+=|-=|=)\s*(\S+)\s*", word)
        if not found:
            raise UnweaveError(
                f"expected LATENT=VALUE, LATENT+=STEP or LATENT-=STEP as in z3=1.5, got {word!r}"
            )
        name, sign, value = found.groups()
        changes[name] = value.removeprefix("+") if sign == "=" else f"{sign}{value}"
    return changes


def edit(model: "TrainedModel", image: Any, changes: Mapping[str, float | str]) -> Edit:
    """The image of the mean code of an image, in which some latents have other values.

    Args:
        model: of which.
        image: one, as :meth:`TrainedModel.encode` takes it.
        changes: by latent (its name, ``z3`` or 3): the new value, or a text ``+=0.5`` or ``-=0.5`` for a step.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> edit(model, np.zeros((32, 32, 3), np.uint8), {"z1": 1.5}).changed_code[1].item()
        1.5
    """
    if not changes:
        raise UnweaveError("nothing is to be changed: name a latent and its value, as in z3=1.5")
    originals = model.images(image).all().images
    if len(originals) != 1:
        raise UnweaveError(f"one image is expected, got {len(originals)}")
    code = model.code(originals)
    changed = code.copy()
    for word, value in changes.items():
        j = model.latent(word)
        changed[j] = _new_value(word, value, float(code[j]))
    before, after = model.decode(np.stack([code, changed]))
    numbers = {model.latent(word): model.latent_names[model.latent(word)] for word in changes}
    return Edit(originals[0], before, after, code, changed, numbers)


def _new_value(word: str, value: float | str, old: float) -> float:
    text = str(value)
    step = text[:2] if text[:2] in ("+=", "-=") else ""
    try:
        number = float(text.removeprefix(step))
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        raise UnweaveError(f"the value of {word} must be a number, got {text!r}")
    return old + number if step == "+=" else old - number if step == "-=" else number
