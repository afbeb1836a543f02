"""A VAE with the face of scikit-learn: fit, transform, inverse_transform, score."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from unweave.data import Arrays
from unweave.errors import UnweaveError
from unweave.image_input import image_input
from unweave.memory import Budget
from unweave.metrics import score_all
from unweave.metrics.metric import Encoded
from unweave.objectives import OBJECTIVES, Objective
from unweave.runs.recommended import with_training
from unweave.slots import PartLike
from unweave.training import train
from unweave.training.randomness import seed_torch
from unweave.vae import VAE

BLOCK = 256
"""Images that are measured at a time."""

IMAGES = {"encoder": "Conv", "decoder": "Deconv", "likelihood": "Bernoulli"}
VECTORS: dict[str, Any] = {
    "encoder": {"name": "MLP", "hidden": [256, 256]},
    "decoder": {"name": "MLP", "hidden": [256, 256]},
    "likelihood": {"name": "Gaussian", "variance": 0.01},
}
"""Parts that are taken for images and for vectors where none is named."""


class Disentangler(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a disentangled code of images, or of vectors, inside scikit-learn's pipelines and searches.

    ``X`` holds images, ``(n, H, W)``, ``(n, H, W, C)`` or ``(n, C, H, W)``, uint8 0 to 255 or float 0 to 1; or vectors
    ``(n, d)`` of any numbers, whose columns are brought to [0, 1] by their range in ``fit`` (what lies outside later is
    clipped).

    Args:
        objective: a name, a class, an instance, a reference, or a mapping with a name and options.
        beta: the objective's weight of that name; none: its default.
        encoder: given likewise; none: ``Conv`` for images, ``MLP`` for vectors.
        decoder: likewise: ``Deconv`` or ``MLP``.
        prior: likewise.
        likelihood: likewise: ``Bernoulli`` for images, ``Gaussian`` with variance 0.01 for vectors.
        latents: size of the code.
        steps: number of updates; none: as ``training`` says.
        batch_size: images in a batch.
        training: ``recommended`` or ``plain``, the optimiser, rate and schedule as in ``unweave train``; or a mapping
            of ``optimizer``, ``learning_rate`` and ``schedule``.
        scoring: what :meth:`score` returns: ``elbo``, the mean bound on log p(x) in nats, or a metric such as ``mig``
            or ``dci``, which needs factors as ``y``; none: ``mig`` if there is a ``y``, else ``elbo``.
        random_state: seed of weights, batches and noise.
        verbose: show a progress bar.

    Attributes:
        vae_: the trained model.
        image_shape_: (channels, height, width); of vectors (1, 1, d).
        outcome_: how training ended.

    Example:
        >>> images = np.random.default_rng(0).integers(256, size=(20, 8, 8), dtype=np.uint8)
        >>> model = Disentangler(latents=2, steps=2, batch_size=4, encoder="MLP", decoder="MLP")
        >>> model.fit_transform(images).shape
        (20, 2)
        >>> model.inverse_transform(model.transform(images[:3])).shape
        (3, 8, 8)
    """

    def __init__(
        self,
        objective: Objective | PartLike = "BetaVAE",
        *,
        beta: float | None = None,
        encoder: PartLike | None = None,
        decoder: PartLike | None = None,
        prior: PartLike = "StandardNormal",
        likelihood: PartLike | None = None,
        latents: int = 10,
        steps: int | None = None,
        batch_size: int = 64,
        training: str | Mapping[str, Any] = "recommended",
        scoring: str | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.objective = objective
        self.beta = beta
        self.encoder = encoder
        self.decoder = decoder
        self.prior = prior
        self.likelihood = likelihood
        self.latents = latents
        self.steps = steps
        self.batch_size = batch_size
        self.training = training
        self.scoring = scoring
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Train on images or vectors; ``y`` has no effect.

        Example:
            >>> Disentangler(steps=1, latents=2).fit(np.eye(5)).outcome_.status
            'finished'
        """
        self._learn_layout(X)
        dataset = Arrays.from_arrays(self._images(X, reset=True))
        self.image_shape_ = dataset.image_shape
        with torch.random.fork_rng(devices=[]):
            seed_torch(self.random_state, "weights")
            with Budget("the model"):
                self.vae_ = self._assemble()
            objective = OBJECTIVES.make(self._objective(), latents=self.latents)
        self.outcome_ = train(
            self.vae_,
            objective,
            dataset,
            batch_size=self.batch_size,
            seed=self.random_state,
            quiet=not self.verbose,
            **self._training(),
        )
        if self.outcome_.status != "finished":
            raise UnweaveError(f"training did not finish: {self.outcome_.reason}")
        self.vae_.eval()
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Posterior means (n, latents) of images or vectors.

        Example:
            >>> Disentangler(steps=1, latents=2).fit(np.eye(5)).transform(np.eye(5)).shape
            (5, 2)
        """
        check_is_fitted(self)
        return self.vae_.codes(self._images(X))[0]

    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]:
        """The images or vectors of codes (n, latents), in the layout and the units of those that were fitted.

        Example:
            >>> model = Disentangler(steps=1, latents=2).fit(10 * np.eye(5))
            >>> model.inverse_transform(np.zeros((3, 2))).shape
            (3, 5)
        """
        check_is_fitted(self)
        codes = np.asarray(X, np.float32)
        if codes.ndim != 2 or codes.shape[1] != self.latents:
            raise UnweaveError(f"codes must have shape (n, {self.latents}), got {codes.shape}")
        decoded = self.vae_.decode_mean(codes)
        if self.layout_ == "vectors":
            vectors: NDArray[Any] = decoded.reshape(len(codes), -1) * self.scale_ + self.minimum_
            return vectors
        laid = decoded if self.layout_ == "first" else decoded.transpose(0, 2, 3, 1)
        laid = laid[..., 0] if self.layout_ == "flat" else laid
        return np.rint(255 * laid).astype(np.uint8) if self.dtype_ == np.uint8 else laid

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """The score that ``scoring`` names; higher is better.

        Example:
            >>> Disentangler(steps=1, latents=2).fit(np.eye(5)).score(np.eye(5)) < 0
            True
        """
        check_is_fitted(self)
        name = self.scoring or ("elbo" if y is None else "mig")
        images = self._images(X)
        if name == "elbo":
            return self._elbo(images)
        if y is None:
            raise UnweaveError(
                f"the score {name} compares codes with factors: give them as y, or use scoring='elbo'"
            )
        factors = np.asarray(y)
        factors = factors[:, None] if factors.ndim == 1 else factors
        means, scales = self.vae_.codes(images)
        found = score_all(Encoded.of(means, factors, scales), [name], interval=False)
        return float(found[name].value)

    @torch.no_grad()
    def _elbo(self, images: NDArray[Any]) -> float:
        total = 0.0
        with torch.random.fork_rng(devices=[]):
            seed_torch(self.random_state, "noise")
            for start in range(0, len(images), BLOCK):
                found = self.vae_.measure(image_input(images[start : start + BLOCK], self.image_shape_))
                assert found.nll is not None
                total -= float(found.nll.sum() + found.kl.sum())
        return total / len(images)

    def _learn_layout(self, X: ArrayLike) -> None:
        """Remember what the rows of ``X`` are, to give them back likewise."""
        given = np.asarray(X)
        shape, self.dtype_ = given.shape, given.dtype
        if len(shape) < 3:
            self.layout_ = "vectors"
        elif len(shape) == 3:
            self.layout_ = "flat"
        else:
            self.layout_ = "last" if shape[3] in (1, 3) else "first"

    def _images(self, X: ArrayLike, *, reset: bool = False) -> NDArray[Any]:
        """As the model takes them: vectors become images of one row of pixels in [0, 1]."""
        if self.layout_ != "vectors":
            return np.asarray(X)
        vectors = validate_data(self, X, reset=reset, dtype=np.float64)
        if reset:
            self.minimum_ = vectors.min(axis=0)
            spread = vectors.max(axis=0) - self.minimum_
            self.scale_ = np.where(spread > 0, spread, 1.0)
        unit = np.clip((vectors - self.minimum_) / self.scale_, 0, 1)
        images: NDArray[Any] = unit.astype(np.float32)[:, None, None, :]
        return images

    def _assemble(self) -> VAE:
        usual = VECTORS if self.layout_ == "vectors" else IMAGES
        given = {"encoder": self.encoder, "decoder": self.decoder, "likelihood": self.likelihood}
        parts = {slot: usual[slot] if part is None else part for slot, part in given.items()}
        return VAE.assemble(self.image_shape_, self.latents, prior=self.prior, **parts)

    def _objective(self) -> Any:
        if self.beta is None:
            return self.objective
        if isinstance(self.objective, Objective):
            raise UnweaveError("beta is an option of an objective by name: set it on the instance itself")
        named = self.objective if isinstance(self.objective, Mapping) else {"name": self.objective}
        return {**named, "beta": self.beta}

    def _training(self) -> dict[str, Any]:
        asked: dict[str, Any] = (
            {"training": self.training} if isinstance(self.training, str) else dict(self.training)
        )
        if self.steps is not None:
            asked["steps"] = self.steps
        chosen = {"steps": 5000, "learning_rate": 1e-4, **with_training(asked, "Arrays")}
        return {
            key: chosen[key] for key in ("steps", "learning_rate", "optimizer", "schedule") if key in chosen
        }

    @property
    def _n_features_out(self) -> int:
        return self.latents

    def __getstate__(self) -> dict[str, Any]:
        # The weights travel as safetensors: opening them runs no code of their own.
        from safetensors.torch import save

        state = dict(super().__getstate__())
        if "vae_" in state:
            weights = {name: weight.contiguous() for name, weight in state.pop("vae_").state_dict().items()}
            state["weights_"] = save(weights)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        from safetensors.torch import load

        weights = state.pop("weights_", None)
        super().__setstate__(state)
        if weights is not None:
            with torch.random.fork_rng(devices=[]):
                self.vae_ = self._assemble()
            self.vae_.load_state_dict(load(weights))
            self.vae_.eval()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
