"""The variational auto-encoder: the one place where its five parts meet."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Distribution, Independent

from unweave.errors import UnweaveError
from unweave.functional.divergence import kl_parts
from unweave.image_input import image_input
from unweave.likelihoods import LIKELIHOODS, Likelihood
from unweave.networks import DECODERS, ENCODERS
from unweave.pairing import PAIRINGS, Pairing
from unweave.posteriors import POSTERIORS, Posterior
from unweave.priors import PRIORS, Prior
from unweave.slots import Choice, PartLike


class VAEOutput(NamedTuple):
    """What a VAE makes of a batch of images: ``q(z|x)``, a sample ``z`` of it, and ``p(x|z)``.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), latents=2)
        >>> vae(torch.zeros(3, 1, 32, 32)).z.shape
        torch.Size([3, 2])
    """

    q: Distribution
    z: Tensor
    p: Distribution


class Measurement(NamedTuple):
    """What scores need of a batch: code means and deviations, nats per latent, and ``-log p(x|z)`` where there is one.

    Example:
        >>> zeros = torch.zeros(2, 3)
        >>> Measurement(zeros, zeros + 1, zeros, None).nll is None
        True
    """

    means: Tensor
    scales: Tensor
    kl: Tensor
    nll: Tensor | None


class Model(nn.Module, ABC):
    """What training, runs, scores and pages need of a model: images to codes, and codes to images."""

    latents: int
    image_shape: tuple[int, int, int]
    span: ClassVar[tuple[float, float]] = (-2.0, 2.0)
    """Between which values of a code a picture sweeps."""

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @abstractmethod
    def measure(self, images: Tensor, *, likelihood: bool = True) -> Measurement:
        """What scores need of a batch of images in [0, 1], ``(n, *image_shape)``."""

    @abstractmethod
    def decode_mean(self, codes: NDArray[Any], block: int = 64) -> NDArray[np.float32]:
        """The images in [0, 1] of an array of codes ``(n, latents)``, ``block`` of them at a time."""

    @torch.no_grad()
    def codes(self, images: Any, block: int = 256) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Means and standard deviations of the codes of images, each ``(n, latents)``; see :func:`image_input`."""
        parts = [self.measure(part, likelihood=False) for part in self._blocks(images, block)]
        means = torch.cat([part.means for part in parts]).cpu().numpy()
        return means, torch.cat([part.scales for part in parts]).cpu().numpy()

    def reconstruct(self, images: Any) -> NDArray[np.float32]:
        """The images of the mean codes of ``images``, in [0, 1].

        Example:
            >>> import numpy as np
            >>> VAE.assemble((1, 32, 32), 3).reconstruct(np.zeros((2, 1, 32, 32), np.uint8)).shape
            (2, 1, 32, 32)
        """
        return self.decode_mean(self.codes(images)[0])

    def _blocks(self, images: Any, block: int) -> Iterator[Tensor]:
        """Any images, ``block`` of them at a time, as the network takes them."""
        shape = getattr(images, "shape", None)
        if shape is None or len(shape) != 4:  # one image, no axis of channels, or no array: few
            images = image_input(images, self.image_shape)
        for start in range(0, max(len(images), 1), block):
            yield image_input(images[start : start + block], self.image_shape, self.device)


class VAE(Model):
    """Encoder, posterior, prior, decoder and likelihood: ``x -> q(z|x)``, ``z ~ q``, ``z -> p(x|z)``.

    Args:
        encoder: images ``(n, *image_shape)`` to features ``(n, posterior.features)``.
        posterior: features to ``q(z|x)``.
        prior: ``() -> p(z)``.
        decoder: codes ``(n, latents)`` to features ``(n, *likelihood.output_shape)``.
        likelihood: features to ``p(x|z)``.
        pairing: changes the posteriors of a batch of pairs while training; none: images are not paired.

    Reference: SBD figure 1, FAC section 2.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 64, 64), latents=10, decoder="SpatialBroadcast")
        >>> q, z, p = vae(torch.zeros(2, 1, 64, 64))
        >>> p.log_prob(torch.zeros(2, 1, 64, 64)).shape
        torch.Size([2])
    """

    def __init__(
        self,
        encoder: nn.Module,
        posterior: Posterior,
        prior: Prior,
        decoder: nn.Module,
        likelihood: Likelihood,
        pairing: Pairing | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.posterior = posterior
        self.prior = prior
        self.decoder = decoder
        self.likelihood = likelihood
        self.pairing = pairing
        self.latents = posterior.latents
        self.image_shape = likelihood.image_shape
        self.choices: dict[str, Choice] = {}
        """The parts that :meth:`assemble` built, by slot, with their options; others came as instances."""
        self.open_latents: int | None = None
        """How many latents, from the first on, a schedule lets carry anything at present; none: all."""

    @classmethod
    def assemble(
        cls,
        image_shape: tuple[int, int, int],
        latents: int = 10,
        *,
        encoder: PartLike | nn.Module = "Conv",
        decoder: PartLike | nn.Module = "Deconv",
        posterior: PartLike | nn.Module = "DiagonalNormal",
        prior: PartLike | nn.Module = "StandardNormal",
        likelihood: PartLike | nn.Module = "Bernoulli",
        pairing: PartLike | Pairing | None = None,
    ) -> "VAE":
        """A VAE from its parts, each a name, a reference, a class, a mapping with options, or an instance.

        Args:
            image_shape: (channels, height, width).
            latents: size of the code.
            encoder: a name, a reference such as ``my_parts:TinyEncoder``, a class, a mapping
                ``{"name": ..., option: value}`` or an instance; likewise the others.
            decoder: see ``unweave.networks``.
            posterior: see ``unweave.posteriors``.
            prior: see ``unweave.priors``.
            likelihood: see ``unweave.likelihoods``.
            pairing: see ``unweave.pairing``.

        Example:
            >>> vae = VAE.assemble((3, 64, 64), 6, decoder={"name": "Deconv", "hidden": (128,)})
            >>> vae.latents
            6
        """
        if latents < 1:
            raise UnweaveError(f"latents must be at least 1, got {latents}")

        given = {
            "encoder": ENCODERS.chosen(encoder),
            "decoder": DECODERS.chosen(decoder),
            "posterior": POSTERIORS.chosen(posterior),
            "prior": PRIORS.chosen(prior),
            "likelihood": LIKELIHOODS.chosen(likelihood),
        }
        family = POSTERIORS.make(given["posterior"], latents=latents)
        images = LIKELIHOODS.make(given["likelihood"], image_shape=image_shape)
        pairs = None if pairing is None else PAIRINGS.make(pairing)
        vae = cls(
            encoder=ENCODERS.make(given["encoder"], image_shape=image_shape, features=family.features),
            posterior=family,
            prior=PRIORS.make(given["prior"], latents=latents),
            decoder=DECODERS.make(given["decoder"], latents=latents, output_shape=images.output_shape),
            likelihood=images,
            pairing=pairs if isinstance(pairs, Pairing) else None,
        )
        vae.choices = {slot: part for slot, part in given.items() if isinstance(part, Choice)}
        return vae

    def encode(self, images: Tensor) -> Distribution:
        """``q(z|x)`` of images in [0, 1], ``(n, *image_shape)``."""
        q: Distribution = self.posterior(self.encoder(images))
        return q if self.open_latents is None else _first_latents(q, self.open_latents)

    def decode(self, codes: Tensor) -> Distribution:
        """``p(x|z)`` of codes ``(n, latents)``."""
        if self.open_latents is not None:
            codes = torch.cat(
                [codes[:, : self.open_latents], torch.zeros_like(codes[:, self.open_latents :])], 1
            )
        p: Distribution = self.likelihood(self.decoder(codes))
        return p

    def infer(self, images: Tensor) -> Distribution:
        """``q(z|x)`` as objectives see it: in training, and with a pairing, that of a batch of pairs."""
        q = self.encode(images)
        return q if self.pairing is None or not self.training else self.pairing(q)

    def forward(self, images: Tensor) -> VAEOutput:
        """Posterior, a reparameterised sample of it, and the likelihood at that sample."""
        q = self.infer(images)
        z = q.rsample()
        return VAEOutput(q, z, self.decode(z))

    @torch.no_grad()
    def measure(self, images: Tensor, *, likelihood: bool = True) -> Measurement:
        """Posterior means and deviations, the KL to the prior, and ``-log p(x|z)`` at a sample, if asked for.

        Example:
            >>> VAE.assemble((1, 32, 32), 3).measure(torch.zeros(5, 1, 32, 32)).nll.shape
            torch.Size([5])
        """
        q = self.encode(images)
        z = q.sample()
        nll = -self.decode(z).log_prob(images) if likelihood else None
        return Measurement(q.mean, q.stddev, kl_parts(q, self.prior(), z), nll)

    @torch.no_grad()
    def codes(self, images: Any, block: int = 256) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Posterior means and standard deviations of images, each ``(n, latents)``.

        Images are arrays or tensors of any layout and device, see :func:`unweave.image_input.image_input`.

        Example:
            >>> import numpy as np
            >>> means, scales = VAE.assemble((1, 32, 32), 3).codes(np.zeros((5, 1, 32, 32), np.uint8))
            >>> means.shape, bool((scales > 0).all())
            ((5, 3), True)
        """
        posteriors = [self.encode(part) for part in self._blocks(images, block)]
        means = torch.cat([q.mean for q in posteriors]).cpu().numpy()
        return means, torch.cat([q.stddev for q in posteriors]).cpu().numpy()

    @torch.no_grad()
    def decode_mean(self, codes: NDArray[Any], block: int = 64) -> NDArray[np.float32]:
        """The expected images of an array of codes ``(n, latents)``, clipped to [0, 1].

        Example:
            >>> import numpy as np
            >>> VAE.assemble((1, 32, 32), 3).decode_mean(np.zeros((5, 3))).shape
            (5, 1, 32, 32)
        """
        tensor = torch.as_tensor(np.asarray(codes, np.float32), device=self.device)
        means = [self.decode(part).mean.clamp(0, 1).cpu() for part in torch.split(tensor, block)]
        return torch.cat(means).numpy()


def _first_latents(q: Distribution, count: int) -> Distribution:
    """Gaussian posteriors of which all latents but the first ones are N(0, 1)."""
    assert isinstance(q, Independent)
    each = q.base_dist
    mean = torch.cat([each.loc[:, :count], torch.zeros_like(each.loc[:, count:])], 1)
    scale = torch.cat([each.scale[:, :count], torch.ones_like(each.scale[:, count:])], 1)
    return Independent(type(each)(mean, scale, validate_args=False), 1, validate_args=False)


def as_tensor(images: NDArray[Any], device: torch.device | str = "cpu") -> Tensor:
    """Images of a dataset as the float32 tensor in [0, 1] that networks take.

    8-bit images are divided by 255; the memory layout (channels last) is kept.

    Example:
        >>> import numpy as np
        >>> as_tensor(np.full((1, 1, 1, 2), 255, np.uint8))
        tensor([[[[1., 1.]]]])
    """
    tensor = torch.from_numpy(images).to(device)
    if tensor.dtype == torch.uint8:
        return tensor.float().div_(255)
    return tensor.float()
