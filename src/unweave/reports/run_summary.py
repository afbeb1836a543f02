"""What a page shows of a run, computed from its model, its data set and its scores; nothing is trained."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unweave.metrics import GridEmbedding, Score, embed_grid, mig
from unweave.plots import traversal_codes
from unweave.runs.flat import flatten, part_mapping

SHOWN_IMAGES = 8
SHOWN_LATENTS = 10
_SAMPLED = 256


class RunLike(Protocol):
    """What a report reads of a run (:class:`unweave.runs.Run`)."""

    @property
    def folder(self) -> Path:
        """Where the run lives."""

    @property
    def config(self) -> Any:
        """What was asked."""

    @property
    def command(self) -> str:
        """The command that makes the run again."""

    @property
    def status(self) -> str:
        """finished, running, interrupted, diverged or new."""

    @property
    def reason(self) -> str | None:
        """Why the run ended early, if it did."""

    @property
    def history(self) -> Sequence[Mapping[str, Any]]:
        """One record per logged step."""

    @property
    def scores(self) -> Mapping[str, Any]:
        """Stored scores by name."""

    def dataset(self) -> Any:
        """The data set."""

    def model(self) -> Any:
        """The VAE."""


@dataclass(frozen=True)
class RunSummary:
    """Arrays and scores of one run.

    ``kl`` and ``scales`` (latents,) are the mean KL and posterior deviation of each latent; ``order`` lists the
    latents shown, largest KL first; ``sweeps`` (shown, steps, C, H, W) are their traversals over ``span``; ``grid`` is
    None where no two factors span a plane. Made by :func:`gather`.

    Example:
        >>> [field for field in RunSummary.__dataclass_fields__ if field.startswith("or")]
        ['originals', 'order']
    """

    run: RunLike
    label: str
    originals: NDArray[Any]
    reconstructed: NDArray[Any]
    kl: NDArray[np.float64]
    scales: NDArray[np.float64]
    order: list[int]
    sweeps: NDArray[Any]
    span: tuple[float, float]
    grid: GridEmbedding | None
    scores: dict[str, Score]

    @property
    def steps(self) -> int:
        """The last logged step."""
        return int(self.run.history[-1]["step"]) if self.run.history else 0


def gather(run: RunLike, label: str = "") -> RunSummary:
    """Reads the run and lets its model reconstruct, sweep and embed.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> run.train().status
        'finished'
        >>> gather(run).sweeps.shape
        (2, 9, 3, 32, 32)
    """
    dataset, vae = run.dataset(), run.model()
    images = dataset.sample(_SAMPLED, np.random.default_rng(0)).images
    means, scales = (np.asarray(part, dtype=np.float64) for part in vae.codes(images))
    kl = _kl(run, means, scales)
    order = np.argsort(-kl, kind="stable")[:SHOWN_LATENTS].tolist()
    # The sweep starts from the most ordinary of the sampled images, not from the empty middle of latent space.
    center = means[np.argmin(np.sum((means - means.mean(axis=0)) ** 2, axis=1))]
    low, high = getattr(vae, "span", (-2.0, 2.0))
    codes = traversal_codes(center, order, low=low, high=high)
    sweeps = np.asarray(vae.decode_mean(codes.reshape(-1, codes.shape[-1]).astype(np.float32)))
    scores = {name: Score.from_json({"name": name, **entry}) for name, entry in run.scores.items()}
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
        sweeps=sweeps.reshape(*codes.shape[:2], *sweeps.shape[1:]),
        span=(low, high),
        grid=grid,
        scores=scores,
    )


def turned_back_mig(evidence: RunSummary) -> float | None:
    """MIG after turning the two latents of the grid back onto the factors' axes; nothing else is changed.

    With R of :func:`unweave.metrics.geometry_score`: MIG of z', z'_pair = z_pair R. None without factors or grid.

    Example:
        >>> from types import SimpleNamespace as N
        >>> x, y = np.meshgrid(np.linspace(0, 1, 20), np.linspace(0, 1, 20))
        >>> factors = np.stack([x.ravel(), y.ravel()], 1)
        >>> codes = factors @ np.array([[1, 1], [-1, 1]])  # turned by 45 degrees
        >>> out, scales = np.zeros(400, bool), np.ones((400, 2))
        >>> grid = GridEmbedding(("x", "y"), factors, out, (0, 1), codes, scales)
        >>> run = N(codes=lambda: N(means=codes, factors=factors))
        >>> turned = turned_back_mig(N(run=run, grid=grid, scores={"geometry": grid.score()}))
        >>> round(mig(codes, factors).value, 2), round(turned, 2)
        (0.0, 1.0)
    """
    if evidence.grid is None or "geometry" not in evidence.scores:
        return None
    codes = _codes(evidence.run)
    if codes.factors is None:
        return None
    rotation = np.array(evidence.grid.score().constants["rotation"])
    turned = np.array(codes.means, dtype=np.float64)
    pair = list(evidence.grid.latents)
    turned[:, pair] = turned[:, pair] @ rotation
    varying = [k for k in range(codes.factors.shape[1]) if np.ptp(codes.factors[:, k]) > 0]
    return mig(turned, codes.factors[:, varying], intervals=0).value


def labels_of(runs: Sequence[RunLike]) -> list[str]:
    """A short name for each run: what its config has that the others have not, else its folder.

    Example:
        >>> from types import SimpleNamespace as N
        >>> def run(decoder, seed):
        ...     part = N(name=decoder, options={})
        ...     return N(config=N(decoder=part, seed=seed), folder=Path(f"runs/{decoder}-{seed}"))
        >>> labels_of([run("Deconv", 0), run("SpatialBroadcast", 0)])
        ['Deconv', 'SpatialBroadcast']
        >>> labels_of([run("Deconv", 0), run("Deconv", 1)])
        ['seed=0', 'seed=1']
    """
    flat = [flatten(vars(run.config)) for run in runs]
    parts = {
        key for run in runs for key, value in vars(run.config).items() if part_mapping(value) is not None
    }
    keys = [key for key in flat[0] if len({str(entry.get(key)) for entry in flat}) > 1]
    # Names of parts say more than their options or the length of training: the rest is told in the table.
    names = [key for key in keys if key in parts]
    for chosen in (names, [key for key in keys if key in parts or "." in key], keys):
        labels = [" · ".join(_short(key, entry.get(key), parts) for key in chosen) for entry in flat]
        if chosen and len(set(labels)) == len(runs):
            return labels
    folders = [run.folder.name for run in runs]
    if len(set(folders)) == len(runs):
        return folders
    return [f"{i + 1}. {folder}" for i, folder in enumerate(folders)]


def settings(config: Any) -> dict[str, str]:
    """A config as flat ``key: value`` text, parts by name, options behind them.

    Example:
        >>> from types import SimpleNamespace as N
        >>> settings(N(decoder=N(name="Deconv", options={"depth": 4}), latents=10))
        {'decoder': 'Deconv', 'decoder.depth': '4', 'latents': '10'}
    """
    return {key: str(value) for key, value in flatten(vars(config)).items()}


def _short(key: str, value: Any, parts: Collection[str]) -> str:
    return str(value) if key in parts else f"{key}={value}"


def _kl(run: RunLike, means: NDArray[np.float64], scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean KL of each latent: as scored, else of the kept codes, else as last logged, else against N(0, 1)."""
    stored = dict(run.scores.get("kl", {}))
    scored = dict(stored.get("constants", stored)).get("per_latent")
    logged = run.history[-1].get("kl_per_latent") if run.history else None
    kept = getattr(_codes(run), "kl", None) if (run.folder / "codes.npz").exists() else None
    encoded = None if kept is None else np.mean(kept, axis=0)
    for given in (scored, encoded, logged):
        if given is not None and len(given) == means.shape[1] and all(v is not None for v in given):
            return np.asarray(given, dtype=np.float64)
    normal: NDArray[np.float64] = np.mean(0.5 * (means**2 + scales**2 - 1) - np.log(scales), axis=0)
    return normal


def _codes(run: RunLike) -> Any:
    own = getattr(run, "codes", None)
    if own is not None:
        return own()
    from unweave.runs.evaluation import codes_of

    return codes_of(run)  # type: ignore[arg-type]
