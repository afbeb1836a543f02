"""Scores of a run: its data are encoded once, and every score is computed from the stored codes or the model."""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from unweave import artefacts, atomic
from unweave.atomic import DamagedError
from unweave.data import Dataset
from unweave.gan import GAN
from unweave.metrics import (
    AnyMetric,
    Encoded,
    Metric,
    MetricLike,
    Relations,
    Score,
    choose_metrics,
    relations,
    score_all,
    transferred_accuracy,
)
from unweave.model_metrics import ELBO, Codes, Evaluated, ModelMetric, model_metrics
from unweave.runs.latent_names import read_names
from unweave.runs.run import Run
from unweave.runs.status import CODES, SCORES
from unweave.training import cpu
from unweave.training.randomness import generator, seed_torch
from unweave.vae import VAE, Model, as_tensor

logger = logging.getLogger("unweave")
Kept = TypeVar("Kept")

SAMPLES = 10_000
"""Images that are encoded, as in the reference protocols of the scores."""

RELATIONS = "relations.json"
"""Which factor sits in which latent, in the folder of a run."""

HELD_OUT_CODES = "codes-held-out.npz"
"""Codes of images that training never saw, in the folder of a run."""

HELD_OUT = "held_out"
"""Behind the name of their scores."""

TRANSFER = "downstream_accuracy"
"""The metric whose predictors learn from images that were seen, for those that were not."""

DECODED = 1_000
"""How many of them are decoded as well, for the likelihood."""

QUICK = ("elbo", "mig", "factor_vae_score", "geometry")
"""The metrics of every run; they take about a second."""

Tell = Callable[[str], None]


def codes_of(run: Run, *, device: torch.device | str = "cpu", tell: Tell = lambda _: None) -> Codes:
    """The codes of a run: from ``codes.npz`` if that belongs to the present weights, otherwise encoded and stored.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from unweave.runs import Config
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> run.train().step
        1
        >>> codes_of(run).means.shape
        (10000, 2)
    """
    return _stored_codes(run, CODES, _evaluation_sample, device, tell)


def held_out_codes_of(
    run: Run, *, device: torch.device | str = "cpu", tell: Tell = lambda _: None
) -> Codes | None:
    """The codes of images that ``sampling=HeldOut`` kept from a run, likewise stored; None for other runs.

    Example:
        >>> held_out_codes_of.__annotations__["return"] == Codes | None
        True
    """
    if run.config.sampling.name != "HeldOut":
        return None
    return _stored_codes(run, HELD_OUT_CODES, _held_out_sample, device, tell)


def _stored_codes(run: Run, name: str, sample: "_Sample", device: torch.device | str, tell: Tell) -> Codes:
    path = run.folder / name
    model, step = run.model_and_step(device)
    stored = _or_set_aside(path, lambda: Codes.load(path))
    if stored is not None and stored.step == step:
        return stored
    cpu.prepare(torch.get_num_threads())
    seed = run.config.seed
    codes = _encode(model, sample(run.dataset(), generator(seed, "evaluation")), seed, step, tell)
    codes.save(path)
    return codes


def evaluate(
    run: Run,
    *,
    metrics: Sequence[MetricLike] | None = None,
    threads: int = 1,
    interval: bool = True,
    device: torch.device | str = "cpu",
    tell: Tell = lambda _: None,
) -> dict[str, Score]:
    """Scores of a run, also written to ``scores.json`` in its folder; its data are encoded once.

    By default ELBO, NLL, KL (per latent) and latents used where the model has a likelihood; MIG and the FactorVAE score
    where factors are known; the geometry score where two of them span a plane. ``metrics=["all"]`` adds every standard
    metric of :data:`unweave.metrics.METRICS` that the data allow. Scores of metrics that are named are added to the
    stored ones, if these are of the same weights.

    A run whose data have ``sampling=HeldOut`` has two scores of each metric: that of images as training saw them, and,
    with ``held_out`` behind its name, that of combinations of factors which it never saw. There ``downstream_accuracy``
    is that of predictors which learned from the former; metrics that draw from the data themselves have none.

    Args:
        run: what to score.
        metrics: as for :func:`unweave.metrics.resolve_metric`, names of :data:`unweave.model_metrics.MODEL_METRICS`,
            metrics that need a model, or "all".
        threads: metrics computed at a time.
        interval: whether to compute intervals.
        device: of the model.
        tell: called with a line of text for each part of the work.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from unweave.runs import Config
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> _ = run.train()
        >>> sorted(evaluate(run))
        ['elbo', 'factor_vae_score', 'geometry', 'kl', 'latents_used', 'mig', 'nll']
    """
    with run.outside_code():
        return _evaluate(run, metrics, threads, interval, device, tell)


def relations_of(run: Run, scores: Mapping[str, Score]) -> Relations | None:
    """Which factor sits in which latent of a run that was scored, also written to ``relations.json`` in its folder.

    Example:
        >>> relations_of.__annotations__["return"] == Relations | None
        True
    """
    encoded = encoded_of(run)
    found = None if encoded is None else relations(encoded, scores)
    if found is not None:
        artefacts.write_json(run.folder / RELATIONS, found.to_json())
    return found


def encoded_of(run: Run) -> Encoded | None:
    """The codes that are saved with a run, with their factors and the names of both; none if it was not scored.

    Example:
        >>> encoded_of.__annotations__["return"] == Encoded | None
        True
    """
    codes = Codes.load(run.folder / CODES)
    return None if codes is None else _encoded(run, codes, run.model())


def _evaluate(
    run: Run,
    metrics: Sequence[MetricLike] | None,
    threads: int,
    interval: bool,
    device: torch.device | str,
    tell: Tell,
) -> dict[str, Score]:
    chosen, explicit = _chosen(metrics)
    run.model(device)  # damaged weights end the command before anything is changed
    before = _or_set_aside(run.folder / CODES, lambda: Codes.load(run.folder / CODES))
    codes = codes_of(run, device=device, tell=tell)
    encoded = _encoded(run, codes, run.model(device))
    of_codes = [metric for metric in chosen if isinstance(metric, Metric)]
    if not explicit:
        of_codes = [metric for metric in of_codes if metric.needs <= encoded.has]
    scores: dict[str, Score] = {}
    for metric in chosen:
        if isinstance(metric, ModelMetric):
            scores |= _model_scores(metric, run, codes, device, tell)
        elif of_codes:  # all of them together, in the place of the first
            scores |= score_all(
                encoded, of_codes, seed=run.config.seed, threads=threads, interval=interval, tell=tell
            )
            of_codes = []
    scores |= _held_out_scores(run, encoded, chosen, threads, interval, device, tell)
    if not interval:
        scores = {name: score.without_interval() for name, score in scores.items()}
    same_weights = metrics is not None and before is not None and before.step == codes.step
    stored = _or_set_aside(run.folder / SCORES, lambda: run.scores) if same_weights else {}
    new = {name: score.to_json() for name, score in scores.items()}
    artefacts.write_json(run.folder / SCORES, {**(stored or {}), **new})
    return scores


def _held_out_scores(
    run: Run,
    seen: Encoded,
    chosen: Sequence[AnyMetric],
    threads: int,
    interval: bool,
    device: torch.device | str,
    tell: Tell,
) -> dict[str, Score]:
    """The scores of images that training never saw; none if there are no such images."""
    codes = held_out_codes_of(run, device=device, tell=tell)
    if codes is None:
        return {}
    unseen = _encoded(run, codes, run.model(device))
    of_codes = [m for m in chosen if isinstance(m, Metric) and m.needs <= unseen.has and m.name != TRANSFER]
    seed = run.config.seed
    scores = score_all(unseen, of_codes, seed=seed, threads=threads, interval=interval, tell=tell)
    for metric in chosen:
        if isinstance(metric, ELBO):
            scores |= _model_scores(metric, run, codes, device, tell)
        elif metric.name == TRANSFER and seen.factors is not None and codes.factors is not None:
            both = (_columns(table, seen, run.dataset()) for table in (codes_of(run).factors, codes.factors))
            learned, tested = both
            found = transferred_accuracy(seen.codes, learned, unseen.codes, tested, interval=interval)
            scores |= metric.named(found)
    return {f"{name} {HELD_OUT}": score for name, score in scores.items()}


def _columns(factors: NDArray[Any] | None, seen: Encoded, dataset: Dataset) -> NDArray[Any]:
    """Of factors, the columns that vary among the images that were seen."""
    assert factors is not None
    return factors[:, [dataset.factor_space().column(name) for name in seen.factor_names]]


def _or_set_aside(path: Path, read: Callable[[], Kept]) -> Kept | None:
    """What is stored in a file that can be computed again; if it is damaged, it gets another name, and that is told."""
    try:
        return read()
    except DamagedError as error:
        logger.warning("%s; it is kept as %s and computed again", error, atomic.set_aside(path).name)
        return None


def _chosen(metrics: Sequence[MetricLike] | None) -> tuple[list[AnyMetric], bool]:
    """The metrics to compute, and whether each was requested, so that data which do not allow it are an error."""
    everything = metrics is not None and any(isinstance(m, str) and m.lower() == "all" for m in metrics)
    wanted: list[MetricLike] = list(QUICK if metrics is None else metrics)
    if everything:
        wanted = ["elbo", *wanted, "geometry"]
    return choose_metrics(wanted, more=model_metrics()), metrics is not None and not everything


def _encoded(run: Run, codes: Codes, model: Model) -> Encoded:
    dataset, names = run.dataset(), read_names(run.folder)
    known = dataset.space is not None and codes.varying_factors is not None
    facts = latent_facts(model)
    scales = codes.scales.copy()
    for j in facts.get("discrete", ()):  # the most probable class may be certain
        scales[:, j] = np.maximum(scales[:, j], 1e-6)
    encoded = Encoded.of(
        codes.means,
        codes.factors if known else None,
        scales if np.all(scales > 0) else None,
        factor_names=dataset.space.names if known and dataset.space is not None else None,
        latent_names=[names.get(j, f"latent {j}") for j in range(codes.means.shape[1])],
    )
    return dataclasses.replace(encoded, facts=facts)


def latent_facts(model: Model) -> dict[str, Any]:
    """What a model knows of its latents that metrics may need: which are classes, and the prior's variances.

    Those of a prior without a finite variance, or whose variance is not known, are left out.

    Example:
        >>> from unweave import VAE
        >>> from unweave.gan import InfoGAN
        >>> latent_facts(VAE.assemble((1, 32, 32), 2))
        {'prior_variances': (1.0, 1.0)}
        >>> facts = latent_facts(InfoGAN((1, 28, 28), categorical=(2,)))
        >>> facts["discrete"], [round(v, 3) for v in facts["prior_variances"]]
        ((2,), [0.333, 0.333, 1.0])
    """
    if isinstance(model, GAN):
        return {"discrete": model.discrete, "prior_variances": model.prior_variances}
    if not isinstance(model, VAE):
        return {}
    try:
        variances = model.prior().variance.detach().cpu().double()
    except (AttributeError, NotImplementedError):
        return {}
    known = variances.shape == (model.latents,) and bool(torch.isfinite(variances).all())
    return {"prior_variances": tuple(variances.tolist())} if known else {}


def _model_scores(
    metric: ModelMetric, run: Run, codes: Codes, device: torch.device | str, tell: Tell
) -> dict[str, Score]:
    tell(metric.name)
    seed = run.config.seed
    evaluated = Evaluated(run.model(device), run.dataset(), codes, tell)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return metric.named(metric.compute(evaluated, generator(seed, "evaluation", 1)))


def _encode(model: Model, sample: "_Drawn", seed: int, step: int, tell: Tell) -> Codes:
    chosen, images, factors = sample
    means, scales, kl, nll = [], [], [], []
    block = 250
    with torch.no_grad(), torch.random.fork_rng():
        seed_torch(seed, "evaluation")
        for start in range(0, len(chosen), block):
            tell(f"encoding {start} of {len(chosen)} images")
            measured = model.measure(
                as_tensor(images(chosen[start : start + block]), model.device), likelihood=start < DECODED
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


_Drawn = tuple[NDArray[Any], Callable[[NDArray[Any]], NDArray[Any]], NDArray[Any] | None]
"""Keys of the images to encode (factors, or row numbers), keys to images, and the factors if they are known."""
_Sample = Callable[[Dataset, np.random.Generator], _Drawn]


def _held_out_sample(dataset: Dataset, rng: np.random.Generator) -> _Drawn:
    """Images that training never sees."""
    if dataset.count is None:
        factors = dataset.unseen(SAMPLES, rng)
        return factors, dataset.images, factors
    rows = dataset.unseen_rows(SAMPLES, rng)
    return rows, dataset.at, dataset.factors_at(rows)


def _evaluation_sample(dataset: Dataset, rng: np.random.Generator) -> _Drawn:
    """Images as training sees them."""
    if dataset.count is None:
        factors = dataset.evaluation(SAMPLES, rng)
        return factors, dataset.images, factors
    rows = dataset.evaluation_rows(SAMPLES, rng)
    return rows, dataset.at, None if dataset.space is None else dataset.factors_at(rows)
