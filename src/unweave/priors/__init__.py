"""Priors p(z): modules that return a distribution over codes with exact ``log_prob`` and ``sample``.

:class:`Prior` says what a prior must provide; ``PRIORS`` maps the names used in a config to classes.
"""

from unweave.priors.core import Prior
from unweave.priors.gaussian import AnisotropicNormal, StandardNormal
from unweave.priors.mixture import GaussianMixture
from unweave.priors.nested import ISA, GeneralizedNormal, LpNested
from unweave.priors.sparse import SparseMixture
from unweave.priors.student import StudentT
from unweave.priors.symmetric import ExponentialPower, LpNestedSymmetric
from unweave.priors.tree import Tree
from unweave.slots import Slot

_PRIORS: dict[str, type[Prior]] = {
    "StandardNormal": StandardNormal,
    "AnisotropicNormal": AnisotropicNormal,
    "StudentT": StudentT,
    "GaussianMixture": GaussianMixture,
    "SparseMixture": SparseMixture,
    "GeneralizedNormal": GeneralizedNormal,
    "LpNested": LpNested,
    "ISA": ISA,
}
PRIORS: Slot[Prior] = Slot("prior", "unweave.priors", Prior, _PRIORS)

__all__ = [
    "ISA",
    "PRIORS",
    "AnisotropicNormal",
    "ExponentialPower",
    "GaussianMixture",
    "GeneralizedNormal",
    "LpNested",
    "LpNestedSymmetric",
    "Prior",
    "SparseMixture",
    "StandardNormal",
    "StudentT",
    "Tree",
]
