"""FAC figure 40: histograms of the marginals q(z_j), 2D Shapes."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unweave.metrics import decomposition
from unweave.plots.seed_bands import histograms
from unweave.recipes.claims import higher
from unweave.recipes.fac.methods import BETA_VAE, FACTOR_VAE, Method, variants_of
from unweave.recipes.fac.models import shapes_2d
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall
from unweave.recipes.table_cells import mean_and_deviation
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def marginal_divergence(run: Run) -> float:
    """Sum over latents of the KL divergence of q(z_j) from N(0, 1), in nats."""
    codes = codes_of(run)
    found = decomposition(codes.means, codes.scales, np.random.default_rng(0), samples=2000)
    return found["dimension_wise_kl"].value


def posterior_samples(run: Run) -> list[NDArray[np.float64]]:
    """Samples of q(z_j), for each latent."""
    codes = codes_of(run)
    z = codes.means + codes.scales * np.random.default_rng(0).normal(size=codes.means.shape)
    return list(z.T.astype(float))


def marginal_histograms(job: Job, method: Method) -> "Figure":
    """Histograms of all latents (columns) of the first seed for each weight (rows)."""
    variants = variants_of(job, method)
    samples = [posterior_samples(job.runs(variant.name)[0]) for variant in variants]
    return histograms(
        samples,
        rows=[f"{variant.weight:g}" for variant in variants],
        columns=[f"z{j}" for j in range(len(samples[0]))],
        title=f"{method.name}, rows: {method.letter}",
    )


@recipe(
    "fac-fig40",
    title="Histograms of the marginals q(z_j), 2D Shapes",
    claim="The marginals of FactorVAE are quite different from the prior; beta-VAE pushes them towards it.",
    published="histograms for beta = 1, 4, 16, 64 and gamma = 10, 20, 40, 80",
    runs=shapes_2d,
)
def figure_40(job: Job) -> Conclusion:
    """Samples of q(z_j) of the first seed, and the divergence of the marginals from N(0, 1)."""
    job.note(shortfall(job))
    rows = [["runs", "sum over latents of KL(q(z_j) to N(0, 1)) (nats)"]]
    divergences: dict[str, list[float]] = {"beta": [], "gamma": []}
    for method in (BETA_VAE, FACTOR_VAE):
        for variant in variants_of(job, method):
            values = [marginal_divergence(run) for run in job.runs(variant.name)]
            rows.append([variant.label, mean_and_deviation(values)])
            if method is FACTOR_VAE or variant.weight > 1:
                divergences[method.letter] += values
    return Conclusion(
        rows,
        [
            higher(
                "KL of the marginals from N(0, 1), FactorVAE minus beta-VAE (beta > 1) (nats)",
                divergences["gamma"],
                divergences["beta"],
            )
        ],
        {
            "factorvae": marginal_histograms(job, FACTOR_VAE),
            "beta-vae": marginal_histograms(job, BETA_VAE),
        },
    )
