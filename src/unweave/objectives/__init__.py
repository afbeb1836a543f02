"""Objectives: one final class per equation, each a call ``(vae, images, progress) -> Loss``.

:class:`Objective` says what an objective must provide; ``OBJECTIVES`` maps the names used in a config to classes.
"""

from unweave.objectives.adversarial import AAE, FactorVAE
from unweave.objectives.aggregate import DIPVAE, BetaTCVAE, DecompositionVAE, InformationDropout
from unweave.objectives.bound import AnnealedVAE, BetaVAE, MaxEntropyVAE
from unweave.objectives.core import Annealed, Averaged, CriticLoss, Loss, Objective, Progress
from unweave.objectives.ramps import Ramp, Ramped
from unweave.slots import Slot

_OBJECTIVES: dict[str, type[Objective]] = {
    "BetaVAE": BetaVAE,
    "AnnealedVAE": AnnealedVAE,
    "FactorVAE": FactorVAE,
    "AAE": AAE,
    "BetaTCVAE": BetaTCVAE,
    "DIPVAE": DIPVAE,
    "InformationDropout": InformationDropout,
    "DecompositionVAE": DecompositionVAE,
    "MaxEntropyVAE": MaxEntropyVAE,
}
OBJECTIVES: Slot[Objective] = Slot("objective", "unweave.objectives", Objective, _OBJECTIVES)

__all__ = [
    "AAE",
    "DIPVAE",
    "OBJECTIVES",
    "Annealed",
    "AnnealedVAE",
    "Averaged",
    "BetaTCVAE",
    "BetaVAE",
    "CriticLoss",
    "DecompositionVAE",
    "FactorVAE",
    "InformationDropout",
    "Loss",
    "MaxEntropyVAE",
    "Objective",
    "Progress",
    "Ramp",
    "Ramped",
]
