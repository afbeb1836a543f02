"""DEC appendix C: the bias of the minibatch estimate of the entropy of q(z)."""

from typing import TYPE_CHECKING

import numpy as np

from unweave.plots import theory as theory_plots
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.entropy import EntropyBias, entropy_bias

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bias_table(bias: EntropyBias) -> list[list[str]]:
    """The estimate, its bias and the estimated KL for each batch size, then the exact values.

    Example:
        >>> bias_table(entropy_bias(n=100, batch_sizes=(10,), batches=3))[1][0]
        '10'
    """
    rows = [["batch size", "entropy estimate (nats)", "bias", "estimated KL to the prior"]]
    for size, value, kl in zip(bias.batch_sizes, bias.estimates, bias.divergence_estimates, strict=True):
        rows.append([str(size), f"{value:.2f}", f"{value - bias.exact:+.2f}", f"{kl:+.2f}"])
    rows.append(["exact", f"{bias.exact:.2f}", "0", f"{bias.divergence:+.2f}"])
    rows.append(["log n + E H[q(z|x)]", f"{bias.no_overlap:.2f}", f"{bias.no_overlap - bias.exact:+.2f}", ""])
    return rows


def picture(bias: EntropyBias) -> "Figure":
    """The estimate over the batch size.

    Example:
        >>> len(picture(entropy_bias(n=100, batch_sizes=(10, 20), batches=3)).axes)
        1
    """
    return theory_plots.entropy_bias(
        bias.batch_sizes, bias.estimates, bias.errors, bias.exact, bias.no_overlap, bias.n
    )


@recipe(
    "dec-appc",
    title="The bias of the minibatch estimate of the entropy of q(z)",
    claim="In small batches the estimate is log n + E H[q(z|x)] whatever q(z) is, so that the KL estimated with it may "
    "be negative; the bias goes with large batches.",
    published="E Ĥ ≈ log n + E H[q(z|x)] for B ≪ n (appendix C); no bias at B = n",
)
def appendix_c(job: Job) -> Conclusion:
    """The estimate over the batch size in a known case; with encodings that overlap, and some that hardly do."""
    sizes: tuple[int, ...] = job.pick(
        smoke=(2, 32, 200),
        small=(2, 8, 32, 128, 512, 2048, 5000),
        paper=(2, 8, 32, 128, 512, 2048, 5000),
    )
    batches = job.pick(smoke=10, small=100, paper=400)
    overlapping = entropy_bias(n=sizes[-1], batch_sizes=sizes, batches=batches)
    apart = entropy_bias(n=sizes[-1], batch_sizes=sizes[:1], batches=20 * batches, latents=10, deviation=0.1)
    own = f"log n + E H: {apart.no_overlap:.2f}"
    error = float(np.hypot(overlapping.errors[-1], overlapping.exact_error))
    return Conclusion(
        rows=[*bias_table(overlapping), ["2, hardly any overlap", f"{apart.estimates[0]:.2f}", own, ""]],
        pictures={"entropy": picture(overlapping)},
        findings=[
            equal(
                "estimate at B = 2 minus log n − E H[q(z|x)], encodings that hardly overlap (nats)",
                apart.estimates[0] - apart.no_overlap,
                0.0,
                within=max(0.02, 3 * apart.errors[0]),
            ),
            equal(
                "bias at B = n (nats)", overlapping.estimates[-1] - overlapping.exact, 0.0, within=3 * error
            ),
            equal(
                "true KL positive, estimated KL at B = 2 negative (1: yes)",
                float(overlapping.divergence > 0 > overlapping.divergence_estimates[0]),
                1.0,
            ),
        ],
    )
