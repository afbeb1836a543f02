"""Objectives: one final class per equation, each a call ``(vae, images, progress) -> Loss``."""

from unweave.objectives.bound import AnnealedVAE, BetaVAE
from unweave.objectives.core import Averaged, Loss, Objective, Progress

OBJECTIVES: dict[str, type] = {"BetaVAE": BetaVAE, "AnnealedVAE": AnnealedVAE}

__all__ = ["OBJECTIVES", "AnnealedVAE", "Averaged", "BetaVAE", "Loss", "Objective", "Progress"]
