"""What a page shows of a run, computed from its model, its data set and its scores, without training."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.metrics import GridEmbedding, Score, embed_grid, mig
from unweave.objectives import Progress
from unweave.plots import traversal_codes
from unweave.reports.health import Health, evidence, explained_variance, judge
from unweave.runs import latent_names
from unweave.runs.config import Config
from unweave.runs.evaluation import codes_of
from unweave.runs.flat import flatten, part_mapping
from unweave.runs.run import Run
from unweave.schedules import SCHEDULES

SHOWN_IMAGES = 8
SHOWN_LATENTS = 10
_SAMPLED = 256


@dataclass(frozen=True)
class RunSummary:
    """Arrays and scores of one run.

    ``kl`` and ``scales`` (latents,) are the mean KL and posterior standard deviation of each latent; ``order`` lists
    the latents shown, largest KL first; ``traversals`` (shown, steps, C, H, W) are their images over ``span``; ``grid``
    is None if no two factors span a plane; ``names`` says what all latents are called,
    ``health`` whether it has learned. Made by :func:`summarise`.

    Example:
        >>> [field for field in RunSummary.__dataclass_fields__ if field.startswith("or")]
        ['originals', 'order']
    """

    run: Run
    label: str
    originals: NDArray[Any]
    reconstructed: NDArray[Any]
    kl: NDArray[np.float64]
    scales: NDArray[np.float64]
    order: list[int]
    traversals: NDArray[Any]
    span: tuple[float, float]
    grid: GridEmbedding | None
    scores: dict[str, Score]
    names: tuple[str, ...]
    health: Health

    @property
    def steps(self) -> int:
        """The last logged step."""
        return int(self.run.history[-1]["step"]) if self.run.history else 0


def summarise(run: Run, label: str = "") -> RunSummary:
    """Reads the run; its model reconstructs images, traverses its latents and embeds the factor grid.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from unweave.runs import Config, Run
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> run.train().status
        'finished'
        >>> summarise(run).traversals.shape
        (2, 9, 3, 32, 32)
    """
    dataset, vae = run.dataset(), run.model()
    images = dataset.sample(_SAMPLED, np.random.default_rng(0)).images
    means, scales = (np.asarray(part, dtype=np.float64) for part in vae.codes(images))
    kl = _kl(run, means, scales)
    order = np.argsort(-kl, kind="stable")[:SHOWN_LATENTS].tolist()
    # Traverse around the sampled image nearest to the mean code; around 0 there may be no data.
    center = means[np.argmin(np.sum((means - means.mean(axis=0)) ** 2, axis=1))]
    low, high = getattr(vae, "span", (-2.0, 2.0))
    codes = traversal_codes(center, order, low=low, high=high)
    images_of_codes = np.asarray(vae.decode_mean(codes.reshape(-1, codes.shape[-1]).astype(np.float32)))
    scores = {name: Score.from_json({"name": name, **entry}) for name, entry in run.scores.items()}
    explained = explained_variance(images, np.asarray(vae.decode_mean(means.astype(np.float32))))
    grid = embed_grid(vae.codes, dataset)
    if grid is not None and "geometry" not in scores:
        scores["geometry"] = grid.score()
    return RunSummary(
        run=run,
        label=label
        or (run.config.decoder.name if run.config.decoder.name != "none" else run.config.model.name),
        originals=images[:SHOWN_IMAGES],
        reconstructed=np.asarray(vae.reconstruct(images[:SHOWN_IMAGES])),
        kl=kl,
        scales=scales.mean(axis=0),
        order=order,
        traversals=images_of_codes.reshape(*codes.shape[:2], *images_of_codes.shape[1:]),
        span=(low, high),
        grid=grid,
        scores=scores,
        names=latent_names.shown(len(kl), latent_names.read_names(run.folder)),
        health=judge(evidence(run.status, run.history, scores, explained, kl_weights(run))),
    )


def kl_weights(run: Run) -> list[float] | None:
    """The factor by which the schedule multiplied the KL at each record of a run's history; none without a schedule.

    Example:
        >>> from types import SimpleNamespace as N
        >>> from unweave.runs.config import Choice
        >>> config = N(schedule=Choice("Unfolding"), steps=100)
        >>> [round(w) for w in kl_weights(N(config=config, history=[{"step": 1}, {"step": 100}]))]
        [16, 1]
    """
    chosen = getattr(run.config, "schedule", None)
    if chosen is None:
        return None
    schedule = SCHEDULES.build(chosen)
    # A record is written after its step, which counts from 0.
    return [schedule.kl_weight(Progress(int(record["step"]) - 1, run.config.steps)) for record in run.history]


def mig_after_rotation(summary: RunSummary) -> float | None:
    """MIG after rotating the two latents of the grid onto the axes of the factors; nothing else is changed.

    With R of :func:`unweave.metrics.geometry_score`: MIG of z', z'_pair = z_pair R. None without factors or grid.

    Example:
        >>> from types import SimpleNamespace as N
        >>> x, y = np.meshgrid(np.linspace(0, 1, 20), np.linspace(0, 1, 20))
        >>> factors = np.stack([x.ravel(), y.ravel()], 1)
        >>> codes = factors @ np.array([[1, 1], [-1, 1]])  # rotated by 45 degrees
        >>> out, scales = np.zeros(400, bool), np.ones((400, 2))
        >>> grid = GridEmbedding(("x", "y"), factors, out, (0, 1), codes, scales)
        >>> run = N(codes=lambda: N(means=codes, factors=factors))
        >>> rotated = mig_after_rotation(N(run=run, grid=grid, scores={"geometry": grid.score()}))
        >>> round(mig(codes, factors).value, 2), round(rotated, 2)
        (0.0, 1.0)
    """
    if summary.grid is None or "geometry" not in summary.scores:
        return None
    codes = _codes(summary.run)
    if codes.factors is None:
        return None
    rotation = np.array(summary.grid.score().constants["rotation"])
    rotated = np.array(codes.means, dtype=np.float64)
    pair = list(summary.grid.latents)
    rotated[:, pair] = rotated[:, pair] @ rotation
    varying = [k for k in range(codes.factors.shape[1]) if np.ptp(codes.factors[:, k]) > 0]
    return mig(rotated, codes.factors[:, varying], interval=False).value


def run_labels(runs: Sequence[Run]) -> list[str]:
    """A short name for each run: the settings in which it differs from the others, else its folder.

    Example:
        >>> from pathlib import Path
        >>> from types import SimpleNamespace as N
        >>> def run(decoder, seed):
        ...     part = N(name=decoder, options={})
        ...     return N(config=N(decoder=part, seed=seed), folder=Path(f"runs/{decoder}-{seed}"))
        >>> run_labels([run("Deconv", 0), run("SpatialBroadcast", 0)])
        ['Deconv', 'SpatialBroadcast']
        >>> run_labels([run("Deconv", 0), run("Deconv", 1)])
        ['seed=0', 'seed=1']
    """
    flat = [flatten(vars(run.config)) for run in runs]
    parts = {
        key for run in runs for key, value in vars(run.config).items() if part_mapping(value) is not None
    }
    keys = [key for key in flat[0] if len({str(entry.get(key)) for entry in flat}) > 1]
    # Names of parts are more informative than their options or the number of steps; the table shows the rest.
    names = [key for key in keys if key in parts]
    for chosen in (names, [key for key in keys if key in parts or "." in key], keys):
        labels = [" · ".join(_short(key, entry.get(key), parts) for key in chosen) for entry in flat]
        if chosen and len(set(labels)) == len(runs):
            return labels
    folders = [run.folder.name for run in runs]
    if len(set(folders)) == len(runs):
        return folders
    return [f"{i + 1}. {folder}" for i, folder in enumerate(folders)]


def settings(config: Config) -> dict[str, str]:
    """A config as flat ``key: value`` text: each part by its name, followed by its options.

    Example:
        >>> from types import SimpleNamespace as N
        >>> settings(N(decoder=N(name="Deconv", options={"depth": 4}), latents=10))
        {'decoder': 'Deconv', 'decoder.depth': '4', 'latents': '10'}
    """
    return {key: str(value) for key, value in flatten(vars(config)).items()}


def _short(key: str, value: Any, parts: Collection[str]) -> str:
    return str(value) if key in parts else f"{key}={value}"


def _kl(run: Run, means: NDArray[np.float64], scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean KL of each latent: from the scores, else from the saved codes, else as last logged, else to N(0, 1)."""
    score = dict(run.scores.get("kl", {}))
    scored = dict(score.get("constants", score)).get("per_latent")
    logged = run.history[-1].get("kl_per_latent") if run.history else None
    saved = getattr(_codes(run), "kl", None) if (run.folder / "codes.npz").exists() else None
    encoded = None if saved is None else np.mean(saved, axis=0)
    for known in (scored, encoded, logged):
        if known is not None and len(known) == means.shape[1] and all(value is not None for value in known):
            return np.asarray(known, dtype=np.float64)
    normal: NDArray[np.float64] = np.mean(0.5 * (means**2 + scales**2 - 1) - np.log(scales), axis=0)
    return normal


def _codes(run: Run) -> Any:
    own = getattr(run, "codes", None)
    return codes_of(run) if own is None else own()
