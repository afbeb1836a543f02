"""A trained model that stands alone: its parts, how pictures are prepared for it, and what its numbers are called."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.data import FactorSpace
from unweave.errors import UnweaveError
from unweave.models.preparation import Preparation
from unweave.runs import latent_names
from unweave.runs.config import Config
from unweave.runs.weights import About, DataFacts
from unweave.training.randomness import seed_torch
from unweave.vae import VAE, Model

if TYPE_CHECKING:
    from unweave.models.edit import Edit
    from unweave.models.encode import Encoding, Tell
    from unweave.models.export import Exported
    from unweave.models.images import ImageSource
    from unweave.models.interpolate import Interpolation
    from unweave.models.neighbours import Neighbours
    from unweave.models.saving import Precision
    from unweave.models.traverse import Traversal
    from unweave.training import Outcome


BLOCK = 64
"""Images that are decoded at a time."""


class TrainedModel:
    """A model with everything that it needs to be used, and nothing of the data that it was trained on.

    Made by :func:`unweave.load`. Images go in as files, folders, arrays or tensors of any size, and come out as arrays
    ``(n, channels, height, width)`` in [0, 1]; codes are arrays ``(n, latents)``.

    Args:
        model: the networks, with their weights.
        about: config, step, and what the model keeps of its data.
        place: the folder of the run or model that it is from, where the names of latents are stored; none: nowhere.
        names: of latents.
        scores: as they were stored with it.
        relations: which factor sits in which latent, as it was stored with it.

    Example:
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> model.latents, model.latent_names, str(model.preparation)
        (2, ('z0', 'z1'), '32 x 32 RGB, central square')
    """

    def __init__(
        self,
        model: Model,
        about: About,
        *,
        place: Path | None = None,
        names: Mapping[int, str] | None = None,
        scores: Mapping[str, Any] | None = None,
        relations: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model.eval()
        self.about = about
        self.place = place
        self.names = dict(names or {})
        self.scores = dict(scores or {})
        self.relations = dict(relations or {})
        self.preparation = Preparation.of(about.data, model)

    @classmethod
    def untrained(cls, config: Config, image_shape: tuple[int, int, int]) -> "TrainedModel":
        """The model of a config before its first step, for trials: the weights are those of the config's seed."""
        with torch.random.fork_rng(devices=[]):
            seed_torch(config.seed, "weights")
            model = config.make_model(image_shape)
        return cls(model, About(config, DataFacts(image_shape), step=0))

    @classmethod
    def of(cls, vae: VAE, outcome: "Outcome") -> "TrainedModel":
        """A VAE that :func:`unweave.train` trained, to be saved and used; see :func:`unweave.models.assembled.of`."""
        from unweave.models.assembled import about_of

        return cls(vae, about_of(vae, outcome))

    def __repr__(self) -> str:
        return f"TrainedModel({self.title}, step {self.about.step:,}, from {self.place or 'nowhere'})"

    @property
    def title(self) -> str:
        """Data, method and seed in a few words."""
        return " ".join([self.data_name, *self.config.method, f"seed {self.config.seed}"])

    @property
    def data_name(self) -> str:
        """What it was trained on: the name of the data set, or of the user's own folder or file."""
        path = self.config.data.options.get("path")
        return Path(path).name if isinstance(path, str) and Path(path).name else self.config.data.label

    @property
    def config(self) -> Config:
        """Everything that decided the training."""
        return self.about.config

    @property
    def data(self) -> DataFacts:
        """What the model keeps of its training data."""
        return self.about.data

    @property
    def factors(self) -> FactorSpace | None:
        """The factors of its training data, if they were known."""
        return self.about.data.space

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(channels, height, width)."""
        return self.about.data.image_shape

    @property
    def latents(self) -> int:
        """Size of the code."""
        return self.model.latents

    @property
    def latent_names(self) -> tuple[str, ...]:
        """What each latent is called: the name that was given to it, or its number as in ``z3``."""
        return latent_names.shown(self.latents, self.names)

    @property
    def command(self) -> str:
        """The command that made it, if it is known."""
        return str(self.about.made.get("command") or "")

    @property
    def kl(self) -> NDArray[np.float64] | None:
        """Mean KL of each latent in nats, from the scores that were stored with it; none if there are none."""
        stored = self.scores.get("kl", {}).get("constants", {}).get("per_latent")
        values = np.asarray(stored if stored is not None else [], np.float64)
        return values if values.shape == (self.latents,) else None

    def to(self, device: torch.device | str) -> "TrainedModel":
        """The same model, on another device."""
        self.model = self.model.to(device)
        return self

    def latent(self, word: str | int) -> int:
        """The number of the latent that a word stands for: its name, ``z3`` or 3."""
        return latent_names.number_of(word, self.latents, self.names)

    def save(
        self,
        folder: str | Path,
        *,
        licence: str = "",
        precision: "Precision | None" = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the model to a folder that stands alone; see :func:`unweave.models.saving.save`."""
        from unweave.models.saving import save

        return save(self, Path(folder), licence=licence, precision=precision, overwrite=overwrite)

    def name(self, latent: str | int, name: str) -> None:
        """Give a latent a name, and store it beside the weights if the model is from a folder."""
        self.names = latent_names.with_name(self.names, self.latent(latent), name)
        if self.place is not None:
            latent_names.write_names(self.place, self.names)

    def images(self, source: Any, **options: Any) -> "ImageSource":
        """Images in the shape that this model takes; see :func:`unweave.models.images.open_images`."""
        from unweave.models.images import open_images

        return open_images(source, self.preparation, **options)

    def encode(self, images: Any, *, tell: "Tell | None" = None, **options: Any) -> "Encoding":
        """Means, deviations and KL of the codes of images, and what each image is called.

        Args:
            images: a folder, a file, an npz, a data set, arrays, tensors, pictures: see
                :func:`unweave.models.images.open_images`.
            tell: called with how many are done, and of how many.
            options: count, seed, skip_bad.
        """
        from unweave.models.encode import encode, silent

        return encode(self, self.images(images, **options), tell or silent)

    def encode_to(self, images: Any, path: str | Path, *, tell: "Tell | None" = None, **options: Any) -> int:
        """The same into a .npz, .csv or .parquet file, whatever the number of images; returns that number."""
        from unweave.models.code_files import check_kind
        from unweave.models.encode import encode_to, silent

        check_kind(Path(path))
        return encode_to(self, self.images(images, **options), Path(path), tell or silent)

    def code(self, image: Any) -> NDArray[np.float32]:
        """The mean code ``(latents,)`` of one image."""
        found = self.encode(image)
        if len(found) != 1:
            raise UnweaveError(f"one image is expected, got {len(found)}")
        return np.asarray(found.means[0])

    def decode(self, codes: Any, *, tell: "Tell | None" = None) -> NDArray[np.float32]:
        """The expected images of codes ``(n, latents)`` or of one code ``(latents,)``, in [0, 1]."""
        return np.concatenate(list(self.decode_blocks(codes, tell=tell)))

    def decode_blocks(self, codes: Any, *, tell: "Tell | None" = None) -> Iterator[NDArray[np.float32]]:
        """The same, a block of images at a time."""
        checked = self.checked_codes(codes)
        for start in range(0, max(len(checked), 1), BLOCK):
            yield self.model.decode_mean(checked[start : start + BLOCK])
            if tell is not None:
                tell(min(start + BLOCK, len(checked)), len(checked))

    def reconstruct(self, images: Any, *, tell: "Tell | None" = None, **options: Any) -> NDArray[np.float32]:
        """What the model makes of images: the images of their mean codes."""
        return self.decode(self.encode(images, **options).means, tell=tell)

    def sample(self, n: int, *, seed: int = 0, tell: "Tell | None" = None) -> NDArray[np.float32]:
        """New images from the prior; see :func:`unweave.models.sample.sample`."""
        from unweave.models.sample import sample

        return np.concatenate(list(sample(self, n, seed=seed, tell=tell)))

    def traverse(self, image: Any = None, **options: Any) -> "Traversal":
        """One latent varied at a time, around the code of an image; see :func:`unweave.models.traverse.traverse`."""
        from unweave.models.traverse import traverse

        return traverse(self, None if image is None else self.code(image), **options)

    def interpolate(
        self, one: Any, other: Any, *, steps: int = 9, tell: "Tell | None" = None
    ) -> "Interpolation":
        """From one image to another along a line; see :func:`unweave.models.interpolate.interpolate`."""
        from unweave.models.interpolate import interpolate

        return interpolate(self, one, other, steps=steps, tell=tell)

    def edit(self, image: Any, changes: Mapping[str, float | str]) -> "Edit":
        """An image with other values of some latents; see :func:`unweave.models.edit.edit`."""
        from unweave.models.edit import edit

        return edit(self, image, changes)

    def neighbours(
        self, image: Any, among: Any, *, k: int = 12, tell: "Tell | None" = None, **options: Any
    ) -> "Neighbours":
        """The images whose codes are nearest to that of an image; see :func:`unweave.models.neighbours.neighbours`."""
        from unweave.models.encode import silent
        from unweave.models.neighbours import neighbours

        return neighbours(self, image, self.images(among, **options), k=k, tell=tell or silent)

    def export(self, folder: str | Path, kind: str = "onnx") -> "list[Exported]":
        """Encoder and decoder for other programs, compared with this one; see :func:`unweave.models.export.export`."""
        from unweave.models.export import export

        return export(self, Path(folder), kind)

    def suggested_names(self) -> dict[int, str]:
        """A name for each latent in which one factor sits; see :func:`unweave.models.suggestions.suggested_names`."""
        from unweave.models.suggestions import suggested_names

        return suggested_names(self.relations, self.latents)

    def checked_codes(self, codes: Any) -> NDArray[np.float32]:
        """Codes as an array ``(n, latents)``; one sentence if they are something else."""
        values = np.atleast_2d(np.asarray(codes, np.float32))
        if values.ndim != 2 or values.shape[1] != self.latents:
            raise UnweaveError(
                f"codes must have {self.latents} numbers each, one for each latent, got shape {np.shape(codes)}"
            )
        if not np.isfinite(values).all():
            raise UnweaveError("codes contain NaN or infinity")
        return values
