"""Training: state, step and loop, with checkpoints, randomness and display."""

from unweave.training.loop import train
from unweave.training.trainer import Outcome, Trainer

__all__ = ["Outcome", "Trainer", "train"]
