"""InfoGAN and InfoWGAN-GP: the models."""

import math
from abc import ABC
from typing import Any, ClassVar, Literal, NamedTuple, final

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from unweave.errors import UnweaveError, check_at_least
from unweave.gan.games import OriginalGame, QStep, WassersteinGame
from unweave.networks.infogan import InfoGANCritic, InfoGANGenerator, NormPlace
from unweave.objectives import Objective
from unweave.slots import Form
from unweave.standalone import StandaloneModel
from unweave.vae import Measurement


class GeneratedBatch(NamedTuple):
    """Inputs of the generator: continuous codes ``(n, continuous)`` in [-1, 1], classes ``(n, categorical)``, noise.

    Example:
        >>> GeneratedBatch(torch.zeros(2, 4), torch.zeros(2, 1, dtype=torch.long), torch.zeros(2, 62)).noise.shape
        torch.Size([2, 62])
    """

    continuous: Tensor
    classes: Tensor
    noise: Tensor


class GAN(StandaloneModel, ABC):
    """Generator ``x = G(c, e)`` and critic D with encoder ``Q(c|x)``; codes ``c`` and noise ``e``.

    ``p(c_j) = U[-1, 1]`` for continuous codes, uniform over the classes of categorical ones, ``p(e) = N(0, I)``;
    ``Q(c|x)`` is a diagonal Gaussian times categorical distributions.

    As a representation, a code has one column for each continuous and each categorical code: the means of ``Q``, and
    the most probable class, with the classes evenly spaced over [-1, 1]. Codes are decoded with one fixed draw of the
    noise.

    Args:
        image_shape: (channels, height, width).
        continuous: number of continuous codes.
        categorical: number of classes of each categorical code.
        noise: number of noise variables.
        channels: those of the convolutions, see :class:`unweave.networks.infogan.InfoGANCritic`.
        halvings: strides of the convolutions; none: 2 while the image size is even.
        hidden: width of the linear layer.
        slope: slope of the generator's ReLUs below zero.
        lambda_mi: weight of the information term.
        critic_learning_rate: step size of D's and Q's Adam(0.5, 0.999); that of G is ``learning_rate``, 1e-3 in FAC.
        critic_steps: steps of D and Q for each step of G.
        q_step: in which step Q is trained: that of the critic, of the generator, or both.
        norm_place: normalisation before the activations (Chen et al.) or after them (as FAC tables 4-6 print it).

    Reference: FAC tables 4-6, appendices G and H.
    """

    forms: ClassVar[tuple[Form, ...]] = ()
    span: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    critic_norm: ClassVar[Literal["batch", "layer"]] = "batch"
    """Normalisation in the critic."""
    shown_noise: Tensor

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        *,
        continuous: int = 2,
        categorical: tuple[int, ...] = (10,),
        noise: int = 62,
        channels: tuple[int, ...] = (64, 128),
        halvings: tuple[int, ...] | None = None,
        hidden: int = 1024,
        slope: float = 0.0,
        lambda_mi: float = 1.0,
        critic_learning_rate: float = 1e-4,
        critic_steps: int = 1,
        q_step: QStep = "critic",
        norm_place: NormPlace = "before",
    ) -> None:
        super().__init__()
        _check_codes(continuous, categorical, noise)
        _check_training(lambda_mi, critic_learning_rate, critic_steps)
        self.image_shape = image_shape
        self.continuous, self.categorical, self.noise = continuous, tuple(categorical), noise
        self.latents = continuous + len(categorical)
        self.inputs = continuous + sum(categorical) + noise
        self.features = 2 * continuous + sum(categorical)
        self.lambda_mi, self.critic_steps, self.q_step = lambda_mi, critic_steps, q_step
        self.critic_learning_rate = critic_learning_rate
        self.register_buffer("shown_noise", torch.randn(noise))
        layers: dict[str, Any] = {"channels": channels, "halvings": halvings, "hidden": hidden}
        layers["norm_place"] = norm_place
        self.generator = InfoGANGenerator(self.inputs, image_shape, slope=slope, **layers)
        self.critic = InfoGANCritic(image_shape, self.features, norm=self.critic_norm, **layers)

    @property
    def discrete(self) -> tuple[int, ...]:
        """The columns of a code that are classes."""
        return tuple(range(self.continuous, self.latents))

    @property
    def prior_variances(self) -> tuple[float, ...]:
        """Of each column of a code: 1/3 for U[-1, 1], that of evenly spaced classes for the others."""
        of_classes = (float(_class_values(size).double().var(correction=0)) for size in self.categorical)
        return (*(1 / 3,) * self.continuous, *of_classes)

    def draw(self, n: int) -> GeneratedBatch:
        """``n`` codes and noise vectors from their priors."""
        like = self.shown_noise
        classes = [torch.randint(size, (n,), device=like.device) for size in self.categorical]
        return GeneratedBatch(
            2 * torch.rand(n, self.continuous, device=like.device, dtype=like.dtype) - 1,
            _columns(classes, n, like.device),
            torch.randn(n, self.noise, device=like.device, dtype=like.dtype),
        )

    def generate(self, drawn: GeneratedBatch) -> Tensor:
        """``G(c, e)``, images in [0, 1]."""
        hot = [
            F.one_hot(drawn.classes[:, j], size).to(drawn.noise) for j, size in enumerate(self.categorical)
        ]
        images: Tensor = self.generator(torch.cat([drawn.continuous, *hot, drawn.noise], 1))
        return images

    def log_likelihood(self, features: Tensor, drawn: GeneratedBatch) -> Tensor:
        """``log Q(c_j|x)`` of the generator's codes, ``(n, latents)``, from Q's features of its images (FAC Eq. 13)."""
        mean, log_variance, logits = self._split(features)
        squares = (drawn.continuous - mean).square() * (-log_variance).exp()
        each = [-0.5 * (squares + log_variance + math.log(2 * math.pi))]
        for j, of_class in enumerate(logits):
            each.append(of_class.log_softmax(1).gather(1, drawn.classes[:, j : j + 1]))
        return torch.cat(each, 1)

    def code_entropy(self) -> Tensor:
        """``-E[log p(c_j)]`` of each code in nats, ``(latents,)``: log 2 for U[-1, 1], log J for J classes."""
        sizes = [2] * self.continuous + list(self.categorical)
        return torch.tensor(sizes, dtype=torch.float32, device=self.device).log()

    @torch.no_grad()
    def measure(self, images: Tensor, *, likelihood: bool = True) -> Measurement:
        """Codes, their deviations and information: the entropy of ``p(c_j)`` minus that of ``Q(c_j|x)``, in nats."""
        mean, log_variance, logits = self._split(self.critic(images)[1])
        means, scales = [mean], [(0.5 * log_variance).exp()]
        information = [math.log(2) - 0.5 * (math.log(2 * math.pi) + 1 + log_variance)]
        for of_class in logits:
            probability, values = of_class.softmax(1), _class_values(of_class.shape[1]).to(images)
            expected = probability @ values
            means.append(values[of_class.argmax(1)][:, None])
            scales.append((probability @ values.square() - expected.square()).clamp(min=0).sqrt()[:, None])
            entropy = -(probability * of_class.log_softmax(1)).sum(1, keepdim=True)
            information.append(math.log(of_class.shape[1]) - entropy)
        return Measurement(torch.cat(means, 1), torch.cat(scales, 1), torch.cat(information, 1), None)

    @torch.no_grad()
    def decode_mean(self, codes: NDArray[Any], block: int = 64) -> NDArray[np.float32]:
        """The images of an array of codes ``(n, latents)`` and the fixed noise; classes are rounded to the nearest."""
        tensor = torch.as_tensor(np.asarray(codes, np.float32), device=self.device)
        return torch.cat([self.images_of(part).cpu() for part in torch.split(tensor, block)]).numpy()

    def images_of(self, codes: Tensor) -> Tensor:
        """The images of a tensor of codes and the fixed noise; classes are rounded to the nearest."""
        classes = [
            (codes[:, self.continuous + j : self.continuous + j + 1] - _class_values(size).to(codes))
            .abs()
            .argmin(1)
            for j, size in enumerate(self.categorical)
        ]
        drawn = GeneratedBatch(
            codes[:, : self.continuous],
            _columns(classes, codes.shape[0], codes.device),
            self.shown_noise.expand(codes.shape[0], -1),
        )
        return self.generate(drawn)

    def _split(self, features: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        sizes = [self.continuous, self.continuous, *self.categorical]
        mean, log_variance, *logits = torch.split(features, sizes, 1)
        return mean, log_variance, logits


@final
class InfoGAN(GAN):
    """``min_{G,Q} max_D  E[log D(x)] + E[log(1 - D(G(c, e)))] - lambda_mi * E[log Q(c|G(c, e))]``.

    The arguments are those of :class:`GAN`.

    Reference: FAC Eq. 13-15, tables 4-6, appendix H.

    Example:
        >>> import numpy as np
        >>> gan = InfoGAN((1, 28, 28)).eval()
        >>> gan.reconstruct(np.zeros((2, 1, 28, 28), np.uint8)).shape
        (2, 1, 28, 28)
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "min_(G,Q) max_D E[log D(x)] + E[log(1 - D(G(c, e)))] - lambda_mi E[log Q(c|G(c, e))]",
            "FAC Eq. 13-15, table 4",
            "model=InfoGAN data=mnist learning_rate=1e-3",
        ),
    )
    critic_norm: ClassVar[Literal["batch", "layer"]] = "batch"

    def game(self) -> Objective:
        """The original GAN with the information term."""
        return OriginalGame(self.lambda_mi, self.critic_learning_rate, self.critic_steps, self.q_step)


@final
class InfoWGANGP(GAN):
    """``min_{G,Q} max_D  E[D(x)] - E[D(G(c, e))] - eta * penalty(D) - lambda_mi * E[log Q(c|G(c, e))]``.

    The penalty is ``(||grad_x D(x^)||_2 - 1)^2`` between real and generated images. (FAC prints it with a plus, with
    which D would maximise it; it must be minimised.) The arguments are those of :class:`GAN`, and

    Args:
        image_shape: (channels, height, width).
        eta: weight of the gradient penalty.

    Reference: FAC Eq. 13, 14, 16, tables 4-6, appendix H.

    Example:
        >>> import numpy as np
        >>> gan = InfoWGANGP((1, 28, 28), continuous=3, categorical=(10, 2)).eval()
        >>> gan.codes(np.zeros((2, 1, 28, 28), np.uint8))[0].shape
        (2, 5)
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "min_(G,Q) max_D E[D(x)] - E[D(G(c, e))] - eta (‖∇D(x^)‖ - 1)² - lambda_mi E[log Q(c|G(c, e))]",
            "FAC Eq. 13, 14, 16, table 4",
            "model=InfoWGANGP data=mnist learning_rate=1e-3",
        ),
        Form(
            "the same on 2D Shapes",
            "FAC section 6, table 5",
            "model=InfoWGANGP data=dsprites model.continuous=4 model.categorical=[3] model.noise=5 "
            "model.channels=[32,32,64,64] model.hidden=128 model.slope=0.2 model.lambda_mi=0.2 learning_rate=1e-3",
        ),
    )
    critic_norm: ClassVar[Literal["batch", "layer"]] = "layer"

    def __init__(self, image_shape: tuple[int, int, int], *, eta: float = 10.0, **inherited: Any) -> None:
        check_at_least("model.eta", eta, 0)
        super().__init__(image_shape, **inherited)
        self.eta = eta

    def game(self) -> Objective:
        """The Wasserstein GAN with gradient penalty and the information term."""
        return WassersteinGame(
            self.lambda_mi, self.critic_learning_rate, self.critic_steps, self.eta, self.q_step
        )


def _check_codes(continuous: int, categorical: tuple[int, ...], noise: int) -> None:
    if continuous < 0 or any(size < 2 for size in categorical) or continuous + len(categorical) < 1:
        raise UnweaveError(
            f"model needs at least one code, and at least 2 classes in each categorical code, got "
            f"model.continuous={continuous} and model.categorical={list(categorical)}"
        )
    check_at_least("model.noise", noise, 0)


def _check_training(lambda_mi: float, critic_learning_rate: float, critic_steps: int) -> None:
    check_at_least("model.lambda_mi", lambda_mi, 0)
    if critic_learning_rate <= 0 or critic_steps < 1:
        raise UnweaveError(
            f"model.critic_learning_rate must be greater than 0 and model.critic_steps at least 1, got "
            f"{critic_learning_rate:g} and {critic_steps}"
        )


def _columns(classes: list[Tensor], n: int, device: torch.device) -> Tensor:
    return torch.stack(classes, 1) if classes else torch.zeros(n, 0, dtype=torch.long, device=device)


def _class_values(classes: int) -> Tensor:
    return torch.linspace(-1, 1, classes)
