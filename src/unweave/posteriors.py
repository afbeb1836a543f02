"""Families of q(z given x): from the encoder's features to a distribution over codes."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, final

import torch
from torch import Tensor, nn
from torch.distributions import (
    Distribution,
    Independent,
    MultivariateNormal,
    Normal,
    constraints,
    register_kl,
)

from unweave.errors import UnweaveError, check_positive
from unweave.functional.divergence import NarrowNormal, PathwiseNormal, factorises, factors
from unweave.slots import Slot


class Posterior(nn.Module, ABC):
    """A family q(z given x): the encoder's features are its parameters.

    A posterior provides three things:

    1. a constructor ``__init__(self, latents, *, options)`` that calls ``super().__init__(latents, features)``; every
       keyword with a type and a default is an option, ``posterior.NAME=VALUE`` in a config;
    2. ``features``, the number of features for each image that the encoder must return;
    3. ``forward(features) -> Distribution`` with batch shape ``(n,)``, event shape ``(latents,)``, and the members
       ``mean``, ``stddev``, ``log_prob`` and ``rsample``. A posterior that factorises over the latents returns an
       ``Independent`` of one-dimensional distributions; some objectives need that.

    Args:
        latents: size of the code.
        features: number of features for each image.

    Example:
        >>> class UnitNormal(Posterior):
        ...     def __init__(self, latents: int) -> None:
        ...         super().__init__(latents, features=latents)
        ...     def forward(self, features: Tensor) -> Distribution:
        ...         return Independent(Normal(features, torch.ones_like(features)), 1)
        >>> UnitNormal(3)(torch.zeros(2, 3)).rsample().shape
        torch.Size([2, 3])
    """

    def __init__(self, latents: int, features: int) -> None:
        super().__init__()
        self.latents = latents
        self.features = features

    @abstractmethod
    def forward(self, features: Tensor) -> Distribution:
        """The posterior of each row of ``features``, ``(n, features)``."""


@final
class DiagonalNormal(Posterior):
    """``q(z | x) = prod_j N(z_j; mean_j, exp(log_variance_j))``: the features are the means, then the log-variances.

    Args:
        latents: size of the code.
        sticking_the_landing: estimate the KL to any prior from the sample, with gradients along its path only (see
            :class:`unweave.functional.divergence.PathwiseNormal`); off: closed forms where they exist.

    Reference: FAC appendix A ("mean and log-variance of Gaussian q(z|x)"); ISA Eq. 12 for the estimate.

    Example:
        >>> q = DiagonalNormal(2)(torch.tensor([[1.0, 2.0, 0.0, 0.0]]))
        >>> q.mean, q.stddev
        (tensor([[1., 2.]]), tensor([[1., 1.]]))
    """

    def __init__(self, latents: int, *, sticking_the_landing: bool = False) -> None:
        super().__init__(latents, features=2 * latents)
        self.family = PathwiseNormal if sticking_the_landing else NarrowNormal

    def forward(self, features: Tensor) -> "Independent[Normal]":
        """The posterior of each row of ``features``, ``(n, 2 * latents)``."""
        mean, log_variance = features.chunk(2, dim=-1)
        each = self.family(mean, (0.5 * log_variance).exp(), validate_args=False)
        return Independent(each, 1, validate_args=False)


@final
class IsotropicNormal(Posterior):
    """``q(z | x) = N(z; mean, exp(log_variance) I)``: the features are the means, then one log-variance for all.

    With it, a latent of which the prior is wider can hold more: codes are spread out further in units of the one width
    that all latents share, so the latents of an anisotropic prior are not exchangeable.

    Args:
        latents: size of the code.

    Reference: DEC section 7.

    Example:
        >>> IsotropicNormal(2)(torch.tensor([[1.0, 2.0, 0.0]])).stddev
        tensor([[1., 1.]])
    """

    def __init__(self, latents: int) -> None:
        super().__init__(latents, features=latents + 1)

    def forward(self, features: Tensor) -> "Independent[Normal]":
        """The posterior of each row of ``features``, ``(n, latents + 1)``."""
        mean, log_variance = features[:, : self.latents], features[:, self.latents :]
        scale = (0.5 * log_variance).exp().expand_as(mean)
        return Independent(NarrowNormal(mean, scale, validate_args=False), 1, validate_args=False)


@final
class FullNormal(Posterior):
    """``q(z | x) = N(z; mean, L L^T)`` with a lower triangular ``L``: every covariance that a Gaussian can have.

    The features are the means, then twice the logarithms of the diagonal of ``L``, then its entries below the diagonal,
    row by row; features 0 give ``N(0, I)``, and entries of 0 below the diagonal a :class:`DiagonalNormal`. The KL to a
    Gaussian prior has a closed form; to others it is estimated from the sample. A rotation of the code takes this
    family to itself, which the diagonal family does not share: under an isotropic prior no representation is then
    preferred to its rotations (DEC theorem 2).

    Args:
        latents: size of the code.

    Reference: DEC section 4.1, ``S_phi(x)`` of corollary 1 and theorem 2.

    Example:
        >>> q = FullNormal(2)(torch.tensor([[1.0, 2.0, 0.0, 0.0, 0.5]]))
        >>> q.mean, q.covariance_matrix
        (tensor([[1., 2.]]), tensor([[[1.0000, 0.5000],
                 [0.5000, 1.2500]]]))
    """

    def __init__(self, latents: int) -> None:
        super().__init__(latents, features=2 * latents + latents * (latents - 1) // 2)

    def forward(self, features: Tensor) -> MultivariateNormal:
        """The posterior of each row of ``features``, ``(n, 2 latents + latents (latents - 1) / 2)``."""
        mean, log_squares = features[:, : self.latents], features[:, self.latents : 2 * self.latents]
        lower = torch.diag_embed((0.5 * log_squares).exp())
        rows, columns = torch.tril_indices(self.latents, self.latents, -1, device=features.device)
        lower = lower.index_put(
            (torch.arange(features.shape[0])[:, None], rows, columns), features[:, 2 * self.latents :]
        )
        return MultivariateNormal(mean, scale_tril=lower, validate_args=False)


@final
class BallMixture(Posterior):
    """``q(z | x) = share * Uniform(||z - mean|| < radius) + (1 - share) * N(z; 0, I)``: the features are the means.

    The encoder of which DEC says that its mutual information with the data may have any value, by the choice of
    ``share``, while nothing presses similar images to have similar codes: two encodings overlap by the same amount
    wherever they are, unless they are within two radii of each other. The second part is the prior itself, if that is
    the standard normal. The KL is estimated from the sample.

    Args:
        latents: size of the code.
        share: ``lambda``, the weight of the ball, greater than 0 and at most 1.
        radius: ``epsilon``, that of the ball.

    Reference: DEC section 3.1.

    Example:
        >>> q = BallMixture(2, share=0.5)(torch.tensor([[1.0, 2.0]]))
        >>> q.mean, q.rsample().shape
        (tensor([[0.5000, 1.0000]]), torch.Size([1, 2]))
    """

    def __init__(self, latents: int, *, share: float = 0.9, radius: float = 0.01) -> None:
        super().__init__(latents, features=latents)
        if not 0 < share <= 1:
            raise UnweaveError(
                f"posterior.share must be greater than 0 and at most 1, got {share:g}: it is the weight of the ball"
            )
        check_positive("posterior.radius", radius)
        self.share, self.radius = share, radius

    def forward(self, features: Tensor) -> "BallAndNormal":
        """The posterior of each row of ``features``, ``(n, latents)``."""
        return BallAndNormal(features, self.share, self.radius)


@final
class BallAndNormal(Distribution):
    """A mixture of a uniform ball and a standard normal; see :class:`BallMixture`.

    ``rsample`` moves with the centre of the ball. (The density jumps at its rim, so that the gradient of a sampled
    ``log q`` lacks what a sample of the normal contributes when it crosses the rim, a share of the order of the mass
    that the normal has in the ball.)

    Args:
        centre: of the balls, ``(..., latents)``.
        share: weight of the ball.
        radius: of the ball.

    Example:
        >>> q = BallAndNormal(torch.zeros(1, 2), share=1.0, radius=2.0)
        >>> q.log_prob(torch.tensor([[1.0, 1.0]]))  # = -log(4 pi)
        tensor([-2.5310])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    has_rsample = True

    def __init__(self, centre: Tensor, share: float, radius: float) -> None:
        self.centre, self.share, self.radius = centre, share, radius
        super().__init__(centre.shape[:-1], centre.shape[-1:], validate_args=False)

    @property
    def mean(self) -> Tensor:
        """``share`` times the centre."""
        return self.share * self.centre

    @property
    def variance(self) -> Tensor:
        """That of each latent; a coordinate of a point of the unit ball has variance ``1 / (latents + 2)``."""
        within = self.radius**2 / (self.centre.shape[-1] + 2)
        return self.share * (within + (1 - self.share) * self.centre.square()) + 1 - self.share

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density ``(...)`` of values ``(..., latents)``."""
        latents = self.centre.shape[-1]
        volume = (
            0.5 * latents * math.log(math.pi)
            - math.lgamma(0.5 * latents + 1)
            + latents * math.log(self.radius)
        )
        inside = (value - self.centre).square().sum(-1) < self.radius**2
        ball = torch.where(inside, math.log(self.share) - volume, -torch.inf)
        if self.share == 1:
            return ball
        normal = -0.5 * value.square().sum(-1) - 0.5 * latents * math.log(2 * math.pi)
        return torch.logaddexp(ball, math.log1p(-self.share) + normal)

    def rsample(self, sample_shape: torch.Size | list[int] | tuple[int, ...] = torch.Size()) -> Tensor:
        """Draws of shape ``sample_shape + batch_shape + (latents,)``."""
        centre = self.centre.expand(self._extended_shape(torch.Size(sample_shape)))
        direction = torch.randn_like(centre)
        size = torch.rand_like(centre[..., :1]) ** (1 / centre.shape[-1])
        # 1e-6: rounding must not put a point on the wrong side of the rim.
        within = centre + (1 - 1e-6) * self.radius * size * direction / direction.norm(dim=-1, keepdim=True)
        return torch.where(torch.rand_like(size) < self.share, within, torch.randn_like(centre))


def _kl_full_to_factors(q: MultivariateNormal, p: "Independent[Distribution]") -> Tensor:
    """``KL(N(m, L L^T) || prod_j N(mean_j, scale_j^2))``; other products have no closed form."""
    if not factorises(p) or not isinstance(each := factors(p), Normal):
        raise NotImplementedError
    squares = (q.scale_tril / each.scale.unsqueeze(-1)).square().sum((-2, -1))
    squares = squares + ((q.loc - each.loc) / each.scale).square().sum(-1)
    logs = (each.scale.log() - q.scale_tril.diagonal(dim1=-2, dim2=-1).log()).sum(-1)
    kl: Tensor = 0.5 * (squares - q.loc.shape[-1]) + logs
    return kl


register_kl(MultivariateNormal, Independent)(_kl_full_to_factors)


def example_posteriors(posterior: Posterior, device: torch.device | str = "cpu") -> Distribution:
    """Two posteriors of the family, at features 0, for checks of what kind of distribution it gives.

    Example:
        >>> example_posteriors(DiagonalNormal(4)).batch_shape
        torch.Size([2])
    """
    q: Distribution = posterior(torch.zeros(2, posterior.features, device=device))
    return q


POSTERIORS: Slot[Posterior] = Slot(
    "posterior",
    "unweave.posteriors",
    Posterior,
    {
        "DiagonalNormal": DiagonalNormal,
        "IsotropicNormal": IsotropicNormal,
        "FullNormal": FullNormal,
        "BallMixture": BallMixture,
    },
)
