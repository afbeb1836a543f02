"""ISA appendix B.4: over-complete factor analysis, mean-field inference prunes."""

from typing import TYPE_CHECKING

import numpy as np

from unweave.plots import theory as theory_plots
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.factor_analysis import FactorAnalysis, over_complete

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHAS = np.linspace(0, 0.5, 101)
"""Weights of the redundant component in the figure."""


def models(rho: float = 0.5, noise: float = 0.1, n: int = 100) -> list[FactorAnalysis]:
    """The model at every weight of the redundant component.

    Args:
        rho: length of the third component.
        noise: variance of the observation noise.
        n: number of observations.

    Example:
        >>> len(models())
        101
    """
    return [over_complete(alpha, rho=rho, noise=noise, n=n) for alpha in ALPHAS]


def picture(rho: float = 0.5, noise: float = 0.1, n: int = 100) -> "Figure":
    """Likelihood and free energy over the weight of the redundant component; see :func:`models`.

    Example:
        >>> picture().axes[0].get_ylabel()
        'nats'
    """
    each = models(rho, noise, n)
    return theory_plots.lines(
        ALPHAS,
        {"free energy": [model.free_energy() for model in each]},
        xlabel="α, weight of the redundant component",
        ylabel="nats",
        title="Mean-field inference prunes",
        level=("log-likelihood", [model.log_likelihood() for model in each]),
    )


@recipe(
    "isa-b4",
    title="Over-complete factor analysis: mean-field inference prunes",
    claim="Of all models with the same likelihood, the free energy is highest for the one whose third component is 0.",
    published="a curve (B.4): the free energy has its maximum at α = 0, where it equals the likelihood",
)
def appendix_b4(job: Job) -> Conclusion:
    """Likelihood and free energy over the weight of the redundant component, 0 to 1/2 as in the paper."""
    likelihood = np.array([model.log_likelihood() for model in models()])
    energy = np.array([model.free_energy() for model in models()])
    rows = [["α", "log-likelihood (nats)", "free energy (nats)"]]
    rows += [[f"{ALPHAS[k]:g}", f"{likelihood[k]:.2f}", f"{energy[k]:.2f}"] for k in range(0, 101, 20)]
    job.note("Noise (0.1), ρ (0.5) and the number of observations (100) are ours; the paper prints none.")
    gap, change = likelihood[0] - energy[0], float(np.ptp(likelihood))
    return Conclusion(
        rows=rows,
        pictures={"pruning": picture()},
        findings=[
            equal("α at which the free energy is highest", ALPHAS[energy.argmax()], 0.0),
            equal("likelihood minus free energy at α = 0 (nats)", gap, 0.0, within=1e-6, constructed=True),
            equal(
                "largest change of the likelihood over α (nats)", change, 0.0, within=1e-6, constructed=True
            ),
        ],
    )
