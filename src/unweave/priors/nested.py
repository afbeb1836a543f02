"""Priors of nested norms: generalised Gaussian, Lp-nested symmetric, independent subspaces."""

import math
from typing import Any, Literal, final

import torch
from torch import Tensor
from torch.distributions import Distribution, Gamma, HalfNormal, Independent, LogNormal

from unweave.errors import UnweaveError, check_positive
from unweave.priors.core import Prior
from unweave.priors.exponents import Exponents
from unweave.priors.symmetric import ExponentialPower, LpNestedSymmetric
from unweave.priors.tree import Tree

Radial = Literal["power", "half_normal", "log_normal", "gamma"]


@final
class GeneralizedNormal(Prior):
    """``p(z) = prod_j c exp(-tau |z_j|^p)``: Laplace at ``p = 1``, Gaussian at ``p = 2``, nearly uniform above.

    The KL of a Gaussian to it has a closed form for every ``p``, through the absolute moments of a Gaussian.

    Args:
        latents: size of the code.
        p: exponent, one for all latents or one for each.
        tau: inverse scale; none: ``1 / p``, so that ``p = 2`` is the standard normal and ``p = 1`` Laplace(0, 1).
        learned: train the exponent of each latent, within [0.5, 20].
        kappa: the measure of kurtosis instead of ``p``, greater than -1: ``p = 2 / (1 + kappa)``, so that 0 is normal,
            1 Laplace, more than 0 leptokurtic, less than 0 platykurtic; none: ``p`` as given.

    Reference: ISA Eq. 5.

    Example:
        >>> import torch
        >>> GeneralizedNormal(1, p=1.0)().log_prob(torch.ones(1))  # Laplace: -log 2 - 1
        tensor(-1.6931)
    """

    def __init__(
        self,
        latents: int,
        *,
        p: float | tuple[float, ...] = 1.0,
        tau: float | None = None,
        learned: bool = False,
        kappa: float | None = None,
    ) -> None:
        super().__init__(latents)
        start = _one_each("prior.p", p if kappa is None else exponent_of(kappa), latents, "latent")
        check_positive("prior.tau", tau)
        self.tau = tau
        self.exponents = Exponents(start, [learned] * latents)

    def forward(self) -> "Independent[ExponentialPower]":
        """The distribution, event shape ``(latents,)``."""
        p: Tensor = self.exponents()
        tau = 1 / p if self.tau is None else torch.full_like(p, self.tau)
        return Independent(ExponentialPower(p, tau), 1, validate_args=False)


@final
class LpNested(Prior):
    """An Lp-nested symmetric prior of any tree, with the radial density of ISA Eq. 11.

    Args:
        latents: size of the code.
        tree: nested lists; each list is a norm of what it holds, a whole number means that many latents, so
            ``[1,[1,1]]`` (or ``[1,[2]]``) is ISA Eq. 6; none: one norm of all latents.
        p: exponent, one for all norms or one for each, in the order in which their lists open.
        s: scale of the radial density; none: the exponent of the root: all exponents 2 then give the standard normal.
        learned: train the exponents below the root, within [0.5, 20].
        learned_root: train the exponent of the root too.
        radial: the density ``psi_0`` of the radius ``f(z)`` in ISA Eq. 7. "power" is Eq. 11, the only one under which
            the children of the root are independent. Others, with ``s`` as their scale (none: the root of the number of
            latents, about which the radius of a normal code lies): "half_normal"; "log_normal", of ``log f`` with
            deviation 1/2 around ``log s``; "gamma", of shape 4 and mean ``s``.

    Reference: ISA Eq. 6-8 and 11, algorithm 1.

    Example:
        >>> import torch
        >>> prior = LpNested(5, tree=[[1, 1], [1, 1, 1]], p=(2.1, 1.0, 4.0))
        >>> prior().sample((7,)).shape
        torch.Size([7, 5])
    """

    def __init__(
        self,
        latents: int,
        *,
        tree: Any = None,
        p: float | tuple[float, ...] = 2.1,
        s: float | None = None,
        learned: bool = False,
        learned_root: bool = False,
        radial: Radial = "power",
    ) -> None:
        super().__init__(latents)
        self.radial = radial
        self.tree = Tree.parse([latents] if tree is None else tree)
        if self.tree.leaves != latents:
            raise UnweaveError(
                f"prior.tree has {self.tree.leaves} leaves, but there are {latents} latents: "
                f"set latents={self.tree.leaves} or change the tree"
            )
        check_positive("prior.s", s)
        nodes = len(self.tree.children)
        self.s = s
        self.exponents = Exponents(
            _one_each("prior.p", p, nodes, "norm"), [learned_root, *[learned] * (nodes - 1)]
        )

    def forward(self) -> LpNestedSymmetric:
        """The distribution, event shape ``(latents,)``."""
        exponents: Tensor = self.exponents()
        if self.radial == "power":
            return nested(self.tree, exponents, self.s)
        s = exponents.new_tensor(math.sqrt(self.latents) if self.s is None else self.s)
        return LpNestedSymmetric(self.tree, exponents, s, radial_law(self.radial, s))


@final
class ISA(Prior):
    """Independent subspaces ``z_i`` of the code: ``p(z) = prod_i c_i exp(-||z_i||_{p_i}^{p_0} / s)``.

    The depth-two case of :class:`LpNested`. Latents of different subspaces are independent, those of one are not.

    Args:
        latents: size of the code.
        subspaces: number of latents of each; none: fours, then threes where four does not divide the size (so 20
            latents are the paper's 5 x 4); up to five latents are one or two parts of nearly equal size.
        p0: exponent between subspaces.
        p: exponent within, one for all subspaces or one for each; none: 2.2, or 2.0 if learned. The paper takes 2.2 for
            dSprites and 1.9 for 3D faces.
        s: scale of the radial density; none: ``p0``, so that all exponents 2 give the standard normal.
        learned: train ``p`` within [0.5, 20]; ``p0`` stays fixed.

    Reference: ISA Eq. 9-12, section 4 and appendix A.2.

    Example:
        >>> ISA(20).subspaces, ISA(10).subspaces
        ((4, 4, 4, 4, 4), (4, 3, 3))
        >>> ISA(20, subspaces=(5, 5, 5, 5, 5))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: prior.subspaces [5, 5, 5, 5, 5] have 25 latents in all, but there are 20: ...
    """

    def __init__(
        self,
        latents: int,
        *,
        subspaces: tuple[int, ...] | None = None,
        p0: float = 2.1,
        p: float | tuple[float, ...] | None = None,
        s: float | None = None,
        learned: bool = False,
    ) -> None:
        super().__init__(latents)
        self.subspaces = default_subspaces(latents) if subspaces is None else subspaces
        if not self.subspaces or min(self.subspaces) < 1:
            raise UnweaveError(
                f"prior.subspaces must be whole numbers of at least 1, got {list(self.subspaces)}"
            )
        if sum(self.subspaces) != latents:
            raise UnweaveError(
                f"prior.subspaces {list(self.subspaces)} have {sum(self.subspaces)} latents in all, but there are "
                f"{latents}: set latents={sum(self.subspaces)} or change the subspaces"
            )
        check_positive("prior.s", s)
        check_positive("prior.p0", p0)
        start = (2.0 if learned else 2.2) if p is None else p
        within = _one_each("prior.p", start, len(self.subspaces), "subspace")
        self.tree = Tree.parse([[size] for size in self.subspaces])
        self.s = s
        self.exponents = Exponents([p0, *within], [False, *[learned] * len(within)])

    def forward(self) -> LpNestedSymmetric:
        """The distribution, event shape ``(latents,)``."""
        return nested(self.tree, self.exponents(), self.s)


def exponent_of(kappa: float) -> float:
    """The exponent ``p = 2 / (1 + kappa)`` of a measure of kurtosis (ISA section 3.1).

    Example:
        >>> exponent_of(0.0), exponent_of(1.0)
        (2.0, 1.0)
    """
    if not kappa > -1:
        raise UnweaveError(f"prior.kappa must be greater than -1, got {kappa:g}: p is 2 / (1 + kappa)")
    return 2 / (1 + kappa)


def radial_law(name: Radial, s: Tensor) -> Distribution:
    """A distribution of the radius of scale ``s``; see :class:`LpNested`.

    Example:
        >>> import torch
        >>> radial_law("gamma", torch.tensor(3.0)).mean
        tensor(3.)
    """
    if name == "half_normal":
        return HalfNormal(s, validate_args=False)
    if name == "log_normal":
        return LogNormal(s.log(), torch.full_like(s, 0.5), validate_args=False)
    return Gamma(torch.full_like(s, 4.0), 4 / s, validate_args=False)


def nested(tree: Tree, exponents: Tensor, s: float | None) -> LpNestedSymmetric:
    """The Lp-nested distribution with scale ``s``, or the exponent of the root if none is given.

    Example:
        >>> import torch
        >>> nested(Tree.parse([1, 1]), torch.tensor([1.0]), None).log_prob(torch.zeros(2))  # Laplace: -2 log 2
        tensor(-1.3863)
    """
    return LpNestedSymmetric(tree, exponents, exponents[0] if s is None else exponents.new_tensor(s))


def default_subspaces(latents: int) -> tuple[int, ...]:
    """The default subspace sizes: as many fours as possible, threes for the rest.

    Example:
        >>> [default_subspaces(n) for n in (1, 2, 3, 4, 5, 6, 7, 25)]
        [(1,), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 3), (4, 4, 4, 4, 3, 3, 3)]
    """
    count = 1 if latents == 1 else 2 if latents <= 5 else -(-latents // 4)
    small, larger = divmod(latents, count)
    return tuple(small + (i < larger) for i in range(count))


def _one_each(name: str, given: float | tuple[float, ...], count: int, what: str) -> list[float]:
    values = [given] * count if isinstance(given, int | float) else list(given)
    if len(values) != count:
        raise UnweaveError(
            f"{name} must be one number or {count} numbers, one for each {what}, got {len(values)}"
        )
    return values
