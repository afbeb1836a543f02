"""Runs: what was asked, what came out, and how it is scored."""

from unweave.runs.config import Config
from unweave.runs.run import Codes, Run

__all__ = ["Codes", "Config", "Run"]
