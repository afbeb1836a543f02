"""One model of the page: what it is, whether it has learned, its latents, and its weights for the kernel."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.errors import UnweaveError
from unweave.explorer.blob import NotPackable, Precision
from unweave.explorer.data_pictures import STARTS, DataPictures
from unweave.explorer.latent_facts import LatentFacts, latent_facts
from unweave.explorer.packing import pack
from unweave.explorer.precomputed import precomputed
from unweave.metrics import Score
from unweave.metrics.elbo import USED_SCALE
from unweave.models import TrainedModel
from unweave.models.encode import Encoding
from unweave.models.traverse import center
from unweave.reports.health import Health, evidence, explained_variance, judge
from unweave.reports.run_summary import kl_weights
from unweave.runs import publishing
from unweave.runs.run import Run
from unweave.vae import VAE

_RECONSTRUCTED = 32
"""Images from which the share of variance that reconstructions explain is computed."""

_SMALLEST = 4
"""Pixels of height and width below which there is nothing to see."""


@dataclass(frozen=True)
class Subject:
    """What the page says of one model, and the bytes of its decoder and encoder (none: pictures made beforehand).

    Example:
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> subject(model, "circles", None, "fixed16").facts["order"]
        [0, 1]
    """

    label: str
    facts: dict[str, Any]
    health: Health
    note: str
    weights: tuple[bytes, bytes]
    arrays: dict[str, NDArray[np.float32]]


def subject(model: TrainedModel, label: str, pictures: DataPictures | None, precision: Precision) -> Subject:
    """Gathers what the page shows of a model.

    Args:
        model: which.
        label: what it is called in the page.
        pictures: of the page's data, whose codes are shown on the plane.
        precision: of the weights.

    Example:
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> subject(model, "circles", None, "fixed16").health.verdict
        'unknown'
    """
    check_images(model)
    codes = None if pictures is None else _codes(model, pictures)
    latents = latent_facts(model, *((codes.means, codes.scales, codes.kl) if codes is not None else ()))
    centre = _centre(model, codes)
    arrays = {"draws": latents.draws, "centre": centre}
    if codes is not None:
        arrays["codes"] = codes.means
    health, note = _health(model, pictures, codes)
    facts: dict[str, Any] = {
        "label": label,
        "title": model.title,
        "identity": model.config.identity[:8],
        "step": model.about.step,
        "latents": latents.to_json(),
        "order": latents.order,
        "measure": latents.measure,
        "preparation": _preparation(model),
    }
    try:
        packed = pack(model, precision)
        facts["description"], begins = packed.description, packed.description["encoder_from"]
        weights = packed.weights[:begins], packed.weights[begins:]
    except NotPackable as error:
        facts["precomputed"], weights = _beforehand(model, latents, centre, codes, arrays), (b"", b"")
        note += (
            f" The page cannot compute with it ({error}): you see the nearest of pictures made beforehand."
        )
    return Subject(label, facts, health, note.strip(), weights, arrays)


def check_images(model: TrainedModel) -> None:
    """An error if what a model decodes is nothing to look at.

    Example:
        >>> from unweave.runs import Config
        >>> check_images(TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32)))
    """
    channels, height, width = model.image_shape
    if channels not in (1, 3) or min(height, width) < _SMALLEST:
        raise UnweaveError(
            f"explore shows images of 1 or 3 channels and at least {_SMALLEST} x {_SMALLEST} pixels, and those of "
            f"{model.data_name} have {channels} x {height} x {width} numbers: choose a model of images"
        )


def _codes(model: TrainedModel, pictures: DataPictures) -> Encoding:
    codes = model.encode(pictures.images)
    if not np.isfinite(codes.means).all():
        raise UnweaveError(
            f"{model.title} encodes to numbers that are not finite: it has diverged, and shows nothing"
        )
    return codes


def _beforehand(
    model: TrainedModel,
    latents: LatentFacts,
    centre: NDArray[Any],
    codes: Encoding | None,
    arrays: dict[str, NDArray[np.float32]],
) -> dict[str, Any]:
    made = precomputed(model, latents, centre, None if codes is None else codes.means[:STARTS])
    arrays["frames"] = made.pop("codes")
    return made


def _centre(model: TrainedModel, codes: Encoding | None) -> NDArray[np.float32]:
    """Where the walk begins: the code of the image nearest to the mean code; around the prior's mean may be no data."""
    if codes is None:
        return center(model)
    distances = np.sum((codes.means - codes.means.mean(axis=0)) ** 2, axis=1)
    return np.asarray(codes.means[np.argmin(distances)], np.float32)


def _health(model: TrainedModel, pictures: DataPictures | None, codes: Encoding | None) -> tuple[Health, str]:
    """The verdict, and a sentence about a run that is not finished."""
    run = Run(model.place) if model.place is not None and publishing.is_published(model.place) else None
    scores = {name: Score.from_json({"name": name, **entry}) for name, entry in model.scores.items()}
    explained = None
    # What a model makes of other data than its own says nothing of what it has learned.
    if pictures is None or pictures.name != model.data_name:
        codes = None
    if pictures is not None and codes is not None:
        shown = model.preparation.array(pictures.images[:_RECONSTRUCTED])
        explained = explained_variance(shown, model.decode(codes.means[:_RECONSTRUCTED]))
    status = "finished" if run is None else run.status
    seen = evidence(
        status,
        [] if run is None else run.history,
        scores,
        explained,
        None if run is None else kl_weights(run),
    )
    if seen.kl is None and codes is not None and isinstance(model.model, VAE):
        used = float(np.sum(codes.scales < USED_SCALE, axis=1).mean())
        seen = dataclasses.replace(seen, kl=float(codes.kl.sum(axis=1).mean()), latents_used=used)
    health = judge(seen)
    if health.verdict == "unknown":
        health = Health("unknown", "Whether it has learned is not known: it has no scores that would tell.")
    if status in ("finished", "diverged"):
        return health, ""
    reached = f"step {model.about.step:,} of {model.config.steps:,}"
    return health, f"This run is {status}: its model is that of {reached}."


def _preparation(model: TrainedModel) -> dict[str, Any]:
    import PIL.ImageColor

    found = model.preparation
    return {
        "shape": list(found.image_shape),
        "crop": found.crop,
        "background": list(PIL.ImageColor.getrgb(found.background)[:3]),
        "text": str(found),
    }
