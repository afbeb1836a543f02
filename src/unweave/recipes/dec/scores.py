"""Scores that take a run's own prior into account: disentanglement, and the divergence of codes from the prior."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from unweave.functional.mmd import SCALES, inverse_multiquadratic, mmd, over_scales
from unweave.metrics import factor_vae_score
from unweave.metrics.statistics import mean_interval
from unweave.runs.config import Config
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run
from unweave.vae import VAE

Array = NDArray[np.float64]


def disentanglement(run: Run) -> float:
    """The FactorVAE score of a run, with collapsed latents recognised by the width of the run's own prior.

    The score omits latents whose posterior is as wide as the prior, which it takes for ``N(0, 1)``. Here codes are
    divided by the standard deviations of the run's prior first; nothing else in the score depends on their scale.

    Example:
        >>> 0 <= disentanglement(_tiny_run("StudentT")) <= 1
        True
    """
    codes, deviations = codes_of(run), prior_deviations(run)
    assert codes.factors is not None
    rng = np.random.default_rng([run.config.seed, 2])
    means, scales = codes.means / deviations, codes.scales / deviations
    return factor_vae_score(means, codes.factors, rng, scales=scales).value


def prior_deviations(run: Run) -> Array:
    """Standard deviations of the run's prior, ``(latents,)``; 1 where there is none (Student's t, ν up to 2).

    Example:
        >>> prior_deviations(_tiny_run("StudentT")).round(4).tolist()  # of t(5): sqrt(5 / 3)
        [1.291, 1.291]
    """
    with torch.no_grad():
        deviations: Array = prior_of(run)().stddev.double().numpy()
    return np.where(np.isfinite(deviations), deviations, 1.0)


def divergence(run: Run, n: int = 1000) -> float:
    """MMD² between codes of the data, drawn from their posteriors, and draws from the prior, ``n`` of each.

    Example:
        >>> divergence(_tiny_run("SparseMixture"), n=100) > 0  # an untrained encoder is not sparse
        True
    """
    codes = codes_of(run)
    generator = torch.Generator().manual_seed(run.config.seed)
    means, scales = (torch.from_numpy(a[:n]).double() for a in (codes.means, codes.scales))
    z = means + scales * torch.randn(means.shape, generator=generator, dtype=torch.float64)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(run.config.seed)
        wanted = prior_of(run)().sample((n,)).double()
    kernel = over_scales(inverse_multiquadratic, [2 * z.shape[1] * scale for scale in SCALES])
    return float(mmd(z, wanted, kernel))


def prior_of(run: Run) -> nn.Module:
    """The trained prior of a run.

    Example:
        >>> type(prior_of(_tiny_run("StudentT"))).__name__
        'StudentT'
    """
    model = run.model()
    assert isinstance(model, VAE)
    return model.prior


def score_table(disentangled: Mapping[str, Array], losses: Mapping[str, Array]) -> list[list[str]]:
    """Both axes of figure 2 as a table: model -> scores over seeds, model -> reconstruction losses.

    Example:
        >>> score_table({"Gaussian": np.array([0.5, 0.7])}, {"Gaussian": np.array([30.0, 32.0])})[1][2]
        '31.00'
    """
    rows = [["prior", "FactorVAE score", "reconstruction loss (nats)"]]
    for name, values in disentangled.items():
        rows.append([name, str(mean_interval(values)), f"{losses[name].mean():.2f}"])
    return rows


def _tiny_run(prior: str) -> Run:
    """A run of one step, for the examples."""
    config = {
        "data": {"name": "Circles", "size": 16},
        "prior": prior,
        "latents": 2,
        "steps": 1,
        "batch_size": 4,
    }
    run = Run.create(Config.of(config), Path(tempfile.mkdtemp()) / "run")
    run.train()
    return run
