"""Distributions whose contours are norms: the generalised Gaussian and the Lp-nested symmetric family."""

import math
from typing import ClassVar, final

import torch
from torch import Tensor
from torch.distributions import Distribution, Normal, constraints, register_kl

from unweave.functional.gaussian_moments import absolute_moment
from unweave.priors.tree import Tree

Shape = torch.Size | list[int] | tuple[int, ...]

_TINY = 1e-200
"""Replaces zero under a logarithm, in double precision."""
_ROWS = 2**16
"""Rows drawn at once, so that the intermediate arrays fit in the processor's cache."""


@final
class ExponentialPower(Distribution):
    """``p(z) = p tau^(1/p) / (2 Gamma(1/p)) exp(-tau |z|^p)`` on the line: the generalised Gaussian.

    Args:
        p: exponent, any shape.
        tau: inverse scale; with ``1 / p`` the exponent 2 gives N(0, 1) and the exponent 1 Laplace(0, 1).

    Reference: ISA Eq. 5.

    Example:
        >>> ExponentialPower(torch.tensor(2.0), torch.tensor(0.5)).log_prob(torch.tensor(0.0))  # -log(2 pi) / 2
        tensor(-0.9189)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    support = constraints.real
    has_rsample = True
    p: Tensor
    tau: Tensor

    def __init__(self, p: Tensor, tau: Tensor) -> None:
        self.p, self.tau = torch.broadcast_tensors(p, tau)
        super().__init__(self.p.shape, validate_args=False)

    def expand(self, batch_shape: Shape, _instance: None = None) -> "ExponentialPower":
        """The same distribution for a larger batch."""
        return ExponentialPower(self.p.expand(batch_shape), self.tau.expand(batch_shape))

    @property
    def mean(self) -> Tensor:
        """Zero."""
        return torch.zeros_like(self.p)

    @property
    def variance(self) -> Tensor:
        """``tau^(-2/p) Gamma(3/p) / Gamma(1/p)``."""
        p = self.p.double()
        return (torch.lgamma(3 / p) - torch.lgamma(1 / p) - 2 / p * self.tau.double().log()).exp().to(self.p)

    def _log_normaliser(self) -> Tensor:
        """The logarithm of the integral of ``exp(-tau |z|^p)``."""
        p = self.p.double()
        return math.log(2) + torch.lgamma(1 / p) - p.log() - self.tau.double().log() / p

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density of each value."""
        power = (self.p.double() * value.double().abs().clamp(min=_TINY).log()).exp()
        return (-self.tau.double() * power - self._log_normaliser()).to(value.dtype)

    def entropy(self) -> Tensor:
        """``1/p`` plus the logarithm of the normaliser, in nats."""
        return (1 / self.p.double() + self._log_normaliser()).to(self.p)

    def rsample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """Draws of shape ``sample_shape + batch_shape``: ``tau |z|^p`` is Gamma(1/p) distributed, signs are fair.

        Differentiable in ``p`` and ``tau``, see :func:`log_gamma_variates`.
        """
        p = self.p.expand(self._extended_shape(torch.Size(sample_shape)))
        size = ((log_gamma_variates(1 / p) - self.tau.log()) / p).exp()
        return torch.where(torch.rand_like(size) < 0.5, -size, size)


def _kl_normal_exponential_power(q: Normal, p: ExponentialPower) -> Tensor:
    expected = p.tau.double() * absolute_moment(q.loc.double(), q.scale.double(), p.p)
    entropy: Tensor = q.entropy()
    return (expected + p._log_normaliser() - entropy.double()).to(q.loc.dtype)


register_kl(Normal, ExponentialPower)(_kl_normal_exponential_power)


@final
class LpNestedSymmetric(Distribution):
    r"""``p(z) = psi(f(z)) / (f(z)^(n-1) S_f(1))`` for an Lp-nested function ``f`` and a density ``psi`` of it.

    ``f`` is a tree of norms: inner node ``i`` has the value ``(sum_k v_k^p_i)^(1/p_i)`` of the values of its children,
    leaf ``j`` the value ``|z_j|``. The surface area of its unit sphere is

        S_f(1) = 2^n prod_i [prod_k Gamma(n_ik / p_i)] / [p_i^(l_i - 1) Gamma(n_i / p_i)]

    with ``l_i`` children of node ``i``, ``n_i`` leaves under it, ``n_ik`` under its ``k``-th child. The density of the
    radius ``f(z)`` is

        psi(v) = p_0 v^(n-1) / (Gamma(n / p_0) s^(n / p_0)) exp(-v^p_0 / s),

    the only one for which the children of the root are independent, unless another is given. Everything is computed
    in logarithms and double precision, and returned in the precision of the argument.

    Args:
        tree: which norms are nested in which.
        exponents: one for each inner node, in the order of the tree.
        s: scale of the radial density; with ``p_0`` all exponents 2 give N(0, I), all exponents 1 give Laplace(0, 1).
        radial: another distribution of the radius ``f(z)``, on the positive numbers; ``s`` is then not used.

    Reference: ISA Eq. 6-11 and algorithm 1; Sinz and Bethge 2010, "Lp-nested symmetric distributions".

    Example:
        >>> law = LpNestedSymmetric(Tree.parse([[1, 1], [1]]), torch.tensor([2.0, 2.0, 2.0]), torch.tensor(2.0))
        >>> law.log_prob(torch.zeros(3))  # the Gaussian: -3/2 log(2 pi)
        tensor(-2.7568)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    support = constraints.real_vector

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]  # torch writes an attribute
        """Whether draws are differentiable in the parameters: unless the given radius is not."""
        return self.radial is None or self.radial.has_rsample

    def __init__(
        self,
        tree: Tree,
        exponents: Tensor,
        s: Tensor,
        radial: Distribution | None = None,
        batch_shape: Shape = torch.Size(),
    ) -> None:
        self.tree, self.exponents, self.s, self.radial = tree, exponents, s, radial
        super().__init__(torch.Size(batch_shape), torch.Size((tree.leaves,)), validate_args=False)

    def expand(self, batch_shape: Shape, _instance: None = None) -> "LpNestedSymmetric":
        """The same distribution for a larger batch."""
        return LpNestedSymmetric(self.tree, self.exponents, self.s, self.radial, batch_shape)

    @property
    def mean(self) -> Tensor:
        """Zero."""
        return self.exponents.new_zeros(self._batch_shape + self._event_shape)

    @property
    def variance(self) -> Tensor:
        """``E v_0^2`` times the mean squared shares of the nodes on the path from the root to the leaf."""
        p = self.exponents.double()
        if self.radial is None:
            n = self.tree.leaves / p[0]
            log_square = torch.lgamma(n + 2 / p[0]) - torch.lgamma(n) + 2 / p[0] * self.s.double().log()
        else:
            log_square = (self.radial.mean.square() + self.radial.variance).double().log()
        slots = self.tree.leaves + len(self.tree.children) + 1
        values = p.new_zeros(slots)
        values[self.tree.leaves] = log_square
        for level in reversed(self.tree.levels):
            each = p[level.nodes].unsqueeze(-1)
            share, power = level.leaves.to(p.device) / each, 2 / each
            whole = torch.where(level.present.to(p.device), share, 0.0).sum(-1, keepdim=True)
            log_share = torch.lgamma(share + power) - torch.lgamma(share)
            log_share = log_share - torch.lgamma(whole + power) + torch.lgamma(whole)
            values = values.index_put(
                (level.slots,), values[self.tree.leaves + level.nodes].unsqueeze(-1) + log_share
            )
        return (
            values[: self.tree.leaves].exp().to(self.exponents).expand(self._batch_shape + self._event_shape)
        )

    def log_function(self, value: Tensor) -> Tensor:
        """``log f(z)`` of ``(..., n)``, in double precision."""
        p = self.exponents.double()
        # Column 0 is the padding; columns of nodes are appended as they are computed.
        values = torch.cat(
            [p.new_zeros(*value.shape[:-1], 1), value.double().abs().clamp(min=_TINY).log()], -1
        )
        column = torch.zeros(self.tree.leaves + len(self.tree.children) + 1, dtype=torch.long)
        column[: self.tree.leaves] = 1 + torch.arange(self.tree.leaves)
        for level in self.tree.levels:
            column[self.tree.leaves + level.nodes] = values.shape[-1] + torch.arange(len(level.nodes))
            each = p[level.nodes].unsqueeze(-1)
            powers = torch.where(
                level.present.to(p.device), each * values[..., column[level.slots]], -torch.inf
            )
            values = torch.cat([values, torch.logsumexp(powers, -1) / each.squeeze(-1)], -1)
        return values[..., -1]

    def log_surface(self) -> Tensor:
        """``log S_f(1)``, in double precision."""
        p = self.exponents.double()
        total = p.new_tensor(self.tree.leaves * math.log(2))
        for level in self.tree.levels:
            each, present = p[level.nodes], level.present.to(p.device)
            parts = torch.lgamma(level.leaves.to(p.device) / each.unsqueeze(-1))
            below = torch.where(present, level.leaves.to(p.device), 0.0).sum(-1)
            total = total + torch.where(present, parts, 0.0).sum() - torch.lgamma(below / each).sum()
            total = total - ((present.sum(-1) - 1) * each.log()).sum()
        return total

    def _log_normaliser(self) -> Tensor:
        """The logarithm of the integral of ``exp(-f(z)^p_0 / s)``."""
        p0, n = self.exponents[0].double(), self.tree.leaves
        return self.log_surface() + torch.lgamma(n / p0) + n / p0 * self.s.double().log() - p0.log()

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density ``(...)`` of values ``(..., n)``."""
        log_f = self.log_function(value)
        if self.radial is None:  # the powers of f in front cancel
            density = -(self.exponents[0].double() * log_f).exp() / self.s.double() - self._log_normaliser()
        else:
            log_psi = self.radial.log_prob(log_f.exp()).double()
            density = log_psi - (self.tree.leaves - 1) * log_f - self.log_surface()
        return density.to(value.dtype)

    def entropy(self) -> Tensor:
        """``n / p_0`` plus the logarithm of the normaliser, in nats."""
        if self.radial is not None:
            raise NotImplementedError("the entropy is known only for the radial density of ISA Eq. 11")
        value = self.tree.leaves / self.exponents[0].double() + self._log_normaliser()
        return value.to(self.exponents.dtype).expand(self._batch_shape)

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """Draws of shape ``sample_shape + batch_shape + (n,)``."""
        with torch.no_grad():
            return self._drawn(torch.Size(sample_shape))

    def rsample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """The same draws, differentiable in exponents and scale (see :func:`log_gamma_variates`)."""
        if not self.has_rsample:
            raise NotImplementedError("draws are not differentiable in the parameters of the given radius")
        return self._drawn(torch.Size(sample_shape))

    def _drawn(self, sample_shape: torch.Size) -> Tensor:
        """ISA algorithm 1, a block of rows at a time.

        At each inner node the shares of the children are drawn from a Dirichlet distribution with parameters
        ``n_ik / p_i`` and raised to the power ``1 / p_i``; a leaf is the radius times the shares on its path. The
        shares of a node have norm 1, so the point is on the unit sphere: the auxiliary radius of the paper, which is
        divided out again, need not be drawn.
        """
        shape = self._extended_shape(sample_shape)
        rows = math.prod(shape[:-1])
        blocks = [self._draw(min(_ROWS, rows - start)) for start in range(0, rows, _ROWS)]
        drawn = torch.cat(blocks) if blocks else self.exponents.new_empty(0, self.tree.leaves)
        return drawn.reshape(shape)

    def _draw(self, rows: int) -> Tensor:
        p = self.exponents
        slots = self.tree.leaves + len(self.tree.children) + 1
        # Logarithms of the radii, a row for each node, so that the shares of a node are contiguous.
        root = torch.tensor([self.tree.leaves], device=p.device)
        values = p.new_zeros(slots, rows).index_put((root,), self._log_radius(rows))
        for level in reversed(self.tree.levels):
            each = p[level.nodes].view(-1, 1, 1)
            alpha = level.leaves.to(p).unsqueeze(-1) / each
            weights = log_gamma_variates(alpha.expand(*level.slots.shape, rows))
            present = level.present.to(p.device).unsqueeze(-1)
            whole = torch.logsumexp(weights.masked_fill(~present, -torch.inf), 1, keepdim=True)
            shares = (weights - whole) / each + values[self.tree.leaves + level.nodes].unsqueeze(1)
            values = values.index_put((level.slots,), shares)
        sizes = values[: self.tree.leaves].exp()
        return torch.where(torch.rand_like(sizes) < 0.5, -sizes, sizes).T

    def _log_radius(self, rows: int) -> Tensor:
        if self.radial is not None:
            draw = self.radial.rsample if self.radial.has_rsample else self.radial.sample
            return draw(torch.Size((rows,))).to(self.exponents).log()
        p0 = self.exponents[0]
        return (log_gamma_variates((self.tree.leaves / p0).expand(rows)) + self.s.log()) / p0


def log_gamma_variates(alpha: Tensor) -> Tensor:
    """Logarithms of independent draws from Gamma(alpha), also where the draws themselves would underflow.

    If ``g ~ Gamma(alpha + 1)`` and ``u`` is uniform, ``g u^(1 / alpha) ~ Gamma(alpha)``. In logarithms nothing
    underflows, while at ``alpha = 1/20`` one float32 draw in eighty would be 0.

    Differentiable in ``alpha``: ``u`` stays, and ``dg = -(dF / d alpha) / f`` for the distribution function ``F`` and
    the density ``f`` of ``g`` (implicit reparameterisation, Figurnov et al. 2018), by PyTorch's approximation of it.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> log_gamma_variates(torch.full((100_000,), 0.05)).exp().mean().round(decimals=2)
        tensor(0.0500)
    """
    uniform = torch.rand_like(alpha).neg_().add_(1)  # in (0, 1]: its logarithm is finite
    return torch._standard_gamma(alpha + 1).log() + uniform.log_() / alpha
