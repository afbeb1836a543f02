"""Priors p(z): modules that return a distribution over codes with exact ``log_prob`` and ``sample``.

A prior that takes something from the data has a method ``initialise(draw)``, which training calls once before step 0
with a function that draws ``n`` images; what it finds belongs to the weights.
"""

from torch import nn

from unweave.priors.gaussian import AnisotropicNormal, StandardNormal
from unweave.priors.mixture import GaussianMixture
from unweave.priors.nested import ISA, GeneralizedNormal, LpNested
from unweave.priors.sparse import SparseMixture
from unweave.priors.student import StudentT
from unweave.priors.symmetric import ExponentialPower, LpNestedSymmetric
from unweave.priors.tree import Tree
from unweave.slots import Slot

_PRIORS: dict[str, type[nn.Module]] = {
    "StandardNormal": StandardNormal,
    "AnisotropicNormal": AnisotropicNormal,
    "StudentT": StudentT,
    "GaussianMixture": GaussianMixture,
    "SparseMixture": SparseMixture,
    "GeneralizedNormal": GeneralizedNormal,
    "LpNested": LpNested,
    "ISA": ISA,
}
PRIORS: Slot[nn.Module] = Slot("prior", "unweave.priors", nn.Module, _PRIORS)

__all__ = [
    "ISA",
    "PRIORS",
    "AnisotropicNormal",
    "ExponentialPower",
    "GaussianMixture",
    "GeneralizedNormal",
    "LpNested",
    "LpNestedSymmetric",
    "SparseMixture",
    "StandardNormal",
    "StudentT",
    "Tree",
]
