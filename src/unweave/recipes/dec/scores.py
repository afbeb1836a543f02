"""Scores that take a run's own prior into account: disentanglement, and the divergence of codes from the prior."""

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from unweave.functional.mmd import SCALES, Kernel, inverse_multiquadratic, mmd, over_scales
from unweave.metrics import factor_vae_score
from unweave.metrics.statistics import mean_interval
from unweave.recipes.recipe import Job
from unweave.runs.config import Config
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run
from unweave.vae import VAE

Array = NDArray[np.float64]


def disentanglement(run: Run, *, own_prior: bool = False) -> float:
    """The FactorVAE score of a run, as Kim and Mnih define it.

    The score omits latents whose posterior is as wide as the prior, which it takes for ``N(0, 1)``.

    Args:
        run: a finished run.
        own_prior: recognise collapsed latents by the width of the run's own prior instead: codes are divided by its
            standard deviations first; nothing else in the score depends on their scale.

    Example:
        >>> 0 <= disentanglement(_tiny_run("StudentT")) <= 1
        True
    """
    codes = codes_of(run)
    deviations: Array | float = prior_deviations(run) if own_prior else 1.0
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

    The kernel is the one that the run was trained with.

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
    return float(mmd(z, wanted, kernel_of(run.config.objective.options, z.shape[1])))


def kernel_of(options: Mapping[str, Any], latents: int) -> Kernel:
    """The kernel that the options of a run's objective name; those of DecompositionVAE where they name none.

    Example:
        >>> kernel_of({"norm": "plain", "scales": [1.0]}, 2)(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
        tensor([[0.4444]])
    """
    kernel = partial(inverse_multiquadratic, norm=options.get("norm", "squared"))
    return over_scales(kernel, [2 * latents * scale for scale in options.get("scales", SCALES)])


def prior_of(run: Run) -> nn.Module:
    """The trained prior of a run.

    Example:
        >>> type(prior_of(_tiny_run("StudentT"))).__name__
        'StudentT'
    """
    model = run.model()
    assert isinstance(model, VAE)
    return model.prior


def score_table(
    disentangled: Mapping[str, Array], own_prior: Mapping[str, Array], losses: Mapping[str, Array]
) -> list[list[str]]:
    """Both axes of figure 2 as a table: model -> scores over seeds (both readings), model -> reconstruction losses.

    Example:
        >>> each = {"Gaussian": np.array([0.5, 0.7])}
        >>> score_table(each, each, {"Gaussian": np.array([30.0, 32.0])})[1][3]
        '31.00'
    """
    rows = [["prior", "FactorVAE score", "the same, collapsed by own prior", "reconstruction loss (nats)"]]
    for name, values in disentangled.items():
        both = [str(mean_interval(each)) for each in (values, own_prior[name])]
        rows.append([name, *both, f"{losses[name].mean():.2f}"])
    return rows


def both_scores(job: Job) -> tuple[dict[str, Array], dict[str, Array], dict[str, Array]]:
    """Variant -> the score of each run as defined, the same by own prior, and the reconstruction loss, over seeds."""
    defined, own, losses = {}, {}, {}
    for name in job.variants:
        runs = job.runs(name)
        defined[name] = np.array([disentanglement(run) for run in runs])
        own[name] = np.array([disentanglement(run, own_prior=True) for run in runs])
        losses[name] = job.scores(name, "nll")
    return defined, own, losses


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
