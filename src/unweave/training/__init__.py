"""Training: the loop, its checkpoints, its randomness and its display."""

from unweave.training.loop import Outcome, train

__all__ = ["Outcome", "train"]
