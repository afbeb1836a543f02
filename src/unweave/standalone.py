"""Models that are no VAE: what they must provide to be trained, scored, drawn and explored like one."""

from abc import ABC, abstractmethod

from unweave.objectives import Objective
from unweave.vae import Model


class StandaloneModel(Model, ABC):
    """A model in the place of the VAE's parts, trained by an objective of its own.

    A model provides three things:

    1. a constructor ``__init__(self, image_shape, latents, *, options)``, or without ``latents`` if its options say how
       many codes it has, that calls ``super().__init__()`` and sets ``image_shape`` and ``latents``; every keyword with
       a type and a default is an option, ``model.NAME=VALUE`` in a config;
    2. :meth:`game`, the objective that trains it; it is called with this model where others are called with a VAE;
    3. ``measure(images)`` and ``decode_mean(codes)``: images to codes and back, see :class:`unweave.vae.Model`.

    Example:
        >>> import numpy as np
        >>> import torch
        >>> from unweave.objectives import Loss
        >>> from unweave.vae import Measurement
        >>> class Distance(Objective):
        ...     def forward(self, vae, images, progress) -> Loss:
        ...         return Loss((images.mean((1, 2, 3)) - vae.level).square().mean(), None)
        >>> class Grey(StandaloneModel):
        ...     def __init__(self, image_shape, latents: int) -> None:
        ...         super().__init__()
        ...         self.image_shape, self.latents = image_shape, latents
        ...         self.level = torch.nn.Parameter(torch.zeros(()))
        ...     def game(self) -> Objective:
        ...         return Distance()
        ...     def measure(self, images, *, likelihood=True) -> Measurement:
        ...         means = images.mean((1, 2, 3))[:, None].expand(-1, self.latents)
        ...         return Measurement(means, 0 * means, 0 * means, None)
        ...     def decode_mean(self, codes, block=64):
        ...         return np.ones((len(codes), *self.image_shape)) * np.reshape(codes[:, 0], (-1, 1, 1, 1))
        >>> float(Grey((1, 8, 8), 2).reconstruct(np.full((3, 1, 8, 8), 0.25, np.float32)).mean())
        0.25
    """

    @abstractmethod
    def game(self) -> Objective:
        """The objective that trains this model."""
