"""Which intervals are printed: those of which it was counted how often they cover, and that covered 92 to 98 %."""

from collections.abc import Mapping
from dataclasses import replace

from unweave.metrics.score import Score

NEVER = "how often it covers has not been counted"
WIDE = "of some kinds of codes it covered more than 98 %"
COUNTED: Mapping[str, tuple[int, int] | str] = {
    "sap": (0, 500),
    "explicitness": (1_000, 1_500),
    "downstream_accuracy": (0, 1_500),
    "infomec_explicitness": "of codes with heavy tails it covered 91.8 %",
    "infomec_modularity": WIDE,
    "infomec_compactness": WIDE,
    "sampled_mig": WIDE,
    "subspace_mig": NEVER,
    "factor_vae_score": NEVER,
    "beta_vae_score": NEVER,
}
"""The fewest and most codes with which an interval is printed, or why there is none; scores that are not named have no
such limits. ``benchmarks/results/coverage.json`` holds the counts."""


def withheld(score: Score, codes: int) -> Score:
    """The score without its interval if it was not counted with so many codes; the score then says so.

    A corrected value goes with its interval. The functions themselves go on computing both, for whoever counts.

    Example:
        >>> score = Score("sap", 0.5, 0.4, 0.6)
        >>> withheld(score, 500).low, withheld(score, 10_000).low
        (0.4, None)
        >>> withheld(score, 10_000).no_interval
        'how often it covers was counted with up to 500 codes only'
    """
    known = COUNTED.get(score.name)
    if known is None or (score.low is None and score.corrected is None):
        return score
    if isinstance(known, str):
        why = known
    else:
        fewest, most = known
        if fewest <= codes <= most:
            return score
        why = (
            f"how often it covers was counted with {f'{fewest:,}' if fewest else 'up'} to {most:,} codes only"
        )
    return replace(score, low=None, high=None, corrected=None, covers="", no_interval=why)
