"""How much of the class of a digit the continuous codes of a GAN hold (FAC figures 25, 27, 28, 29, 36)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unweave.gan import GAN
from unweave.metrics import mutual_information
from unweave.recipes.claims import Finding, higher, paired
from unweave.recipes.fac.gans import before_degeneration, class_column, stops
from unweave.recipes.fac.methods import whole_variants
from unweave.recipes.fac.traversals import code_sheet
from unweave.recipes.recipe import Conclusion, Job
from unweave.recipes.shortfall import shortfall
from unweave.recipes.table_cells import mean_and_deviation
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run

ByVariant = dict[str, NDArray[np.float64]]
"""A number for each run of a variant."""


def class_information(run: Run) -> tuple[float, float]:
    """Share of the class's entropy that the continuous codes hold, summed over codes, and that of shuffled classes."""
    codes, gan = codes_of(run), run.model()
    assert codes.factors is not None and isinstance(gan, GAN)
    label = codes.factors[:, class_column(run)].astype(np.int64)
    counts = np.bincount(label)
    chance = counts[counts > 0] / len(label)
    entropy = -float(np.sum(chance * np.log(chance)))
    shuffled = np.random.default_rng(0).permutation(label)
    held, by_chance = (
        float(mutual_information(codes.means[:, : gan.continuous], each[:, None]).sum()) / entropy
        for each in (label, shuffled)
    )
    return held, by_chance


def class_in_codes(claim: Callable[[Job, ByVariant, ByVariant], Finding]) -> Callable[[Job], Conclusion]:
    """Traversals of codes, and how much of the class the continuous codes hold.

    Args:
        claim: the finding from the shares of the class that codes hold, and those of shuffled classes.
    """

    def conclude(job: Job) -> Conclusion:
        """Table of the shares, the claim, and a sheet of traversals."""
        job.note(shortfall(job))
        chosen = {variant: before_degeneration(job, variant) for variant in whole_variants(job)}
        job.note(stops(chosen))
        found = {v: np.array([class_information(run) for run in runs]).T for v, runs in chosen.items()}
        rows = [["runs", "share of the class in the continuous codes", "shuffled"]]
        rows += [[v, mean_and_deviation(held), f"{chance.mean():.3f}"] for v, (held, chance) in found.items()]
        shown = list(chosen)[-1]
        several = len(chosen) == 1
        finding = claim(
            job, {v: held for v, (held, _) in found.items()}, {v: c for v, (_, c) in found.items()}
        )
        figure = code_sheet(chosen[shown][: 5 if several else 1], title=shown)
        return Conclusion(rows, [finding], {"traversals": figure})

    return conclude


def beyond_chance(job: Job, held: ByVariant, shuffled: ByVariant) -> Finding:
    """The claim that the codes of the last variant hold something of the class."""
    last = list(held)[-1]
    return paired(
        "share of the class that the continuous codes tell, minus that of shuffled classes",
        held[last],
        shuffled[last],
    )


def more_than_first(job: Job, held: ByVariant, shuffled: ByVariant) -> Finding:
    """The claim that the codes of the last variant hold more of the class than those of the first."""
    first, last = held
    # Shuffled classes have some by chance, and the more the more codes there are.
    one, two = (held[v] - shuffled[v] for v in (last, first))
    return higher(f"share of the class that the continuous codes tell, {last} minus {first}", one, two)
