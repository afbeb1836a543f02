"""Scores of a run: its data are encoded once, and every score is computed from the codes that are kept."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unweave import atomic
from unweave.data import Dataset
from unweave.metrics import (
    AnyMetric,
    Encoded,
    Metric,
    MetricLike,
    Score,
    choose_metrics,
    elbo_scores,
    embed_grid,
    score_all,
)
from unweave.runs.likelihood import log_likelihood
from unweave.runs.run import Codes, Run
from unweave.training import cpu
from unweave.training.randomness import generator, seed_torch
from unweave.vae import Model, as_tensor

logger = logging.getLogger("unweave")

SAMPLES = 10_000
"""Images that are encoded, as in the reference protocols of the scores."""

DECODED = 1_000
"""How many of them are decoded as well, for the likelihood."""

Tell = Callable[[str], None]


def codes_of(run: Run, *, device: torch.device | str = "cpu", tell: Tell = lambda _: None) -> Codes:
    """The codes of a run: from ``codes.npz`` if that belongs to the present weights, otherwise encoded and kept.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> run.train().step
        1
        >>> codes_of(run).means.shape
        (10000, 2)
    """
    path = run.folder / "codes.npz"
    vae, step = run.model_and_step(device)
    kept = _load(path)
    if kept is not None and kept.step == step:
        return kept
    cpu.prepare(torch.get_num_threads())
    codes = _encode(vae, run.dataset(), run.config.seed, step, tell)
    _save(path, codes)
    return codes


QUICK = ("elbo", "mig", "factor_vae_score", "geometry")
"""Scores of a run that was not asked for more; they take about a second."""

OF_MODELS = ("elbo", "geometry", "log_likelihood")
"""Scores that need more than codes: the bound and its parts, the image of a factor grid, importance sampling."""


class _OfModel(AnyMetric):
    def __init__(self, name: str) -> None:
        self.name = name


MODEL_METRICS: dict[str, AnyMetric] = {name: _OfModel(name) for name in OF_MODELS}
"""Metrics that need more than codes, by name."""

LIKELY = 64
"""Images whose log-likelihood is estimated; each takes thousands of decoded particles."""


def evaluate(
    run: Run,
    *,
    metrics: Sequence[MetricLike] | None = None,
    threads: int = 1,
    device: torch.device | str = "cpu",
    tell: Tell = lambda _: None,
) -> dict[str, Score]:
    """Scores of a run, also written to ``scores.json`` in its folder; its data are encoded once.

    By default ELBO, NLL, KL (per latent) and latents used where the model has a likelihood; MIG and the FactorVAE score
    where factors are known; the geometry score where two of them span a plane. ``metrics=["all"]`` adds every standard
    metric of :data:`unweave.metrics.METRICS` that the data allow. Scores that are asked for by name join those that the
    folder has, if they are of the same weights.

    Args:
        run: what to score.
        metrics: as for :func:`unweave.metrics.resolve_metric`, or "elbo", "geometry", "log_likelihood" (minutes), or
            "all".
        threads: metrics computed at a time.
        device: of the model.
        tell: told what is being done.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> _ = run.train()
        >>> sorted(evaluate(run))
        ['elbo', 'factor_vae_score', 'geometry', 'kl', 'latents_used', 'mig', 'nll']
    """
    everything = metrics is not None and any(isinstance(m, str) and m.lower() == "all" for m in metrics)
    wanted: list[MetricLike] = list(QUICK if metrics is None else metrics)
    if everything:
        wanted = ["elbo", *wanted, "geometry"]
    found = choose_metrics(wanted, more=MODEL_METRICS)
    chosen = {metric.name for metric in found}
    before = _load(run.folder / "codes.npz")
    codes = codes_of(run, device=device, tell=tell)
    dataset, seed = run.dataset(), run.config.seed
    factors = codes.factors if dataset.space is not None else None
    if factors is not None and not np.any(factors != factors[0]):
        factors = None
    encoded = Encoded.of(codes.means, factors, codes.scales if np.all(codes.scales > 0) else None)
    scores: dict[str, Score] = {}
    if "elbo" in chosen and (shown := len(codes.nll)):
        scores = elbo_scores(codes.nll, codes.kl[:shown], codes.scales[:shown])
    of_codes = [metric for metric in found if isinstance(metric, Metric)]
    if metrics is None or everything:
        of_codes = [metric for metric in of_codes if metric.needs <= encoded.has]
    scores |= score_all(encoded, of_codes, seed=seed, threads=threads, tell=tell)
    if "geometry" in chosen and encoded.factors is not None:
        tell("geometry")
        grid = embed_grid(run.model(device).codes, dataset)
        if grid is not None:
            scores["geometry"] = grid.score()
    if "log_likelihood" in chosen:
        images = _some_images(dataset, seed)
        scores["log_likelihood"] = log_likelihood(run.model(device), images, seed=seed, tell=tell)
    kept = run.scores if metrics is not None and before is not None and before.step == codes.step else {}
    written = {**kept, **{name: score.to_json() for name, score in scores.items()}}
    atomic.write_json(run.folder / "scores.json", written)
    return scores


def _some_images(dataset: Dataset, seed: int) -> NDArray[Any]:
    rng = generator(seed, "evaluation", 1)
    if dataset.count is None:
        return dataset.sample(LIKELY, rng).images
    return dataset.at(rng.choice(dataset.count, min(LIKELY, dataset.count), replace=False))


def _encode(vae: Model, dataset: Dataset, seed: int, step: int, tell: Tell) -> Codes:
    rng = generator(seed, "evaluation")
    factors: NDArray[Any] | None
    images: Callable[[NDArray[Any]], NDArray[Any]]
    if dataset.count is None:
        chosen, images = dataset.evaluation(SAMPLES, rng), dataset.images
        factors = chosen
    else:
        chosen = dataset.evaluation_rows(SAMPLES, rng)
        images, factors = dataset.at, None if dataset.space is None else dataset.factors_at(chosen)
    means, scales, kl, nll = [], [], [], []
    block = 250
    with torch.no_grad(), torch.random.fork_rng():
        seed_torch(seed, "evaluation")
        for start in range(0, len(chosen), block):
            tell(f"encoding {start} of {len(chosen)} images")
            measured = vae.measure(
                as_tensor(images(chosen[start : start + block]), vae.device), likelihood=start < DECODED
            )
            means.append(measured.means.cpu().numpy())
            scales.append(measured.scales.cpu().numpy())
            kl.append(measured.kl.cpu().numpy())
            if measured.nll is not None:
                nll.append(measured.nll.cpu().numpy())
    return Codes(
        means=np.concatenate(means),
        scales=np.concatenate(scales),
        kl=np.concatenate(kl),
        factors=factors,
        nll=np.concatenate(nll) if nll else np.zeros(0),
        step=step,
    )


def _save(path: Path, codes: Codes) -> None:
    import io

    buffer = io.BytesIO()
    arrays = {name: getattr(codes, name) for name in ("means", "scales", "kl", "nll", "step")}
    if codes.factors is not None:
        arrays["factors"] = codes.factors
    np.savez(buffer, **arrays)
    atomic.write(path, buffer.getvalue())


def _load(path: Path) -> Codes | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as kept:
            factors = kept.get("factors")
            return Codes(kept["means"], kept["scales"], kept["kl"], factors, kept["nll"], int(kept["step"]))
    except Exception as error:  # whatever a damaged file makes numpy raise: encode again
        logger.warning("%s is damaged (%s); encoding again", path.name, type(error).__name__)
        return None
