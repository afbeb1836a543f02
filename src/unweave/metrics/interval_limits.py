"""Which intervals are computed: those of which it was counted how often they cover, and that covered 92 to 98 %."""

NEVER = "how often it covers has not been counted"
WIDE = "of some kinds of codes it covered more than 98 %"
COUNTED: dict[str, tuple[int, int | None] | str] = {
    "hoyer": (500, None),
    "sap": (1_500, None),
    "sap mode=ubisoft": (500, None),
    "factor_vae_score": (1_500, None),
    "beta_vae_score": (500, None),
    "explicitness": (1_500, 1_500),
    "downstream_accuracy": (500, 1_500),
    "gaussian_total_correlation": (20_000, None),
    "infomec_modularity": (5_000, None),
    "infomec_compactness": (1_500, None),
    "infomec_explicitness": (1_500, None),
    "sampled_mig": WIDE,
    "subspace_mig": NEVER,
}
"""The fewest and most codes (None: without an end) with which a score has an interval, or why it has none; scores that
are not named have no such limits. Both ends were counted: ``benchmarks/results/coverage.json`` holds the counts, and a
test compares them."""


def uncounted(score: str, codes: int) -> str:
    """Why a score of so many codes has no interval, or nothing if it was counted.

    Example:
        >>> uncounted("mig", 10_000)
        ''
    """
    known = COUNTED.get(score, (0, None))
    if isinstance(known, str):
        return known
    fewest, most = known
    if fewest <= codes <= (codes if most is None else most):
        return ""
    if most is None:
        return f"how often it covers was counted with {fewest:,} codes and more only"
    if fewest == most:
        return f"how often it covers was counted with {most:,} codes only"
    return f"how often it covers was counted with {f'{fewest:,}' if fewest else 'up'} to {most:,} codes only"
