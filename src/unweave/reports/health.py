"""Whether a run has learned at all: the first thing that a page says, and what its praise depends on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Verdict = Literal["diverged", "collapsed", "over-regularised", "under-trained", "fine", "unknown"]

SILENT = 0.5
"""Nats of KL, and number of latents used, below which a code says nothing about the image."""

BLANK = 0.1
"""Share of the variance of the images below which reconstructions are hardly better than the mean image."""

POOR = 0.5
"""The same, below which most of what distinguishes the images is lost."""

FALLING = 0.01
"""Share of all that was learned, by which the loss still falls over the last tenth of training."""

FEWEST = 30
"""Records of the loss from which its slope is read."""

BEGINNING = 200
"""Steps up to which a code that says nothing is one that has not begun, not one that was lost."""


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on.

    Args:
        status: of the run.
        kl: in nats, all latents together; none: not known.
        latents_used: mean number of latents whose posterior is narrow; none: not known.
        explained: share of the variance of images that their reconstructions explain: 0 for the mean image, 1 for all
            pixels; none: not known.
        losses: step and total loss of the logged steps, all at the same weights.
        kls: KL at the same steps, where it was logged.

    Example:
        >>> Evidence("finished", kl=0.1, latents_used=0.0, explained=0.0).kl
        0.1
    """

    status: str
    kl: float | None = None
    latents_used: float | None = None
    explained: float | None = None
    losses: Sequence[tuple[int, float]] = ()
    kls: Sequence[tuple[int, float]] = ()


@dataclass(frozen=True)
class Health:
    """A verdict and one sentence that says what it rests on.

    Example:
        >>> judge(Evidence("finished", kl=0.08, latents_used=0.0, explained=0.01)).has_learned
        False
    """

    verdict: Verdict
    sentence: str
    is_blank: bool = False
    """No latent is used, and reconstructions are hardly better than the mean image."""

    @property
    def has_learned(self) -> bool:
        """Whether scores of this run say anything about what it represents."""
        return self.verdict not in ("diverged", "collapsed") and not self.is_blank


def judge(seen: Evidence) -> Health:
    """The verdict on a run.

    * *diverged*: the loss or a weight was not finite, or exploded;
    * *collapsed*: KL and number of latents used are both below 0.5, so the code says nothing about the image;
    * *under-trained*: the same after at most 200 steps without ever having held more; or the loss still falls by more
      than 1 % of what was learned in the last tenth of training; or reconstructions are hardly better than the mean
      image although latents are used;
    * *over-regularised*: the loss has settled, but reconstructions explain less than half of the variance;
    * *fine* otherwise; *unknown* without scores.

    An under-trained model that uses no latent and gives the mean image has not learned either: its scores are those of
    its random beginning.

    Example:
        >>> print(judge(Evidence("finished", kl=0.08, latents_used=0.0, explained=0.01)).sentence)
        The model has collapsed: its code holds 0.1 nats, so it gives nearly the same reconstruction for every image, and its other scores mean nothing.
        >>> judge(Evidence("finished", kl=18.0, latents_used=6.0, explained=0.93)).verdict
        'fine'
    """  # noqa: E501
    if seen.status == "diverged":
        return Health("diverged", "The run diverged: scores and pictures are those of its last checkpoint.")
    if seen.kl is None or seen.latents_used is None or not math.isfinite(seen.kl):
        return Health("unknown", "")
    if seen.kl < SILENT and seen.latents_used < SILENT:
        if _has_hardly_begun(seen):
            steps = f"{seen.losses[-1][0]:,} steps"
            return Health(
                "under-trained",
                f"The model is under-trained: it was trained for {steps} only. {_NOTHING}",
                True,
            )
        return Health("collapsed", f"The model has collapsed: {_collapse(seen)}")
    is_blank = seen.latents_used < SILENT and seen.explained is not None and seen.explained < BLANK
    found = _on_training(seen)
    if not is_blank:
        return found
    return Health(found.verdict, f"{found.sentence} {_NOTHING}", is_blank=True)


_NOTHING = "No latent is used yet, so its other scores mean nothing."


def _has_hardly_begun(seen: Evidence) -> bool:
    """Whether a code that says nothing may still learn to: few steps, in which it never held anything."""
    held = max((kl for _, kl in seen.kls), default=0.0)
    return bool(seen.losses) and seen.losses[-1][0] <= BEGINNING and held < 4 * SILENT


def _on_training(seen: Evidence) -> Health:
    falls = fall(seen.losses)
    if falls is not None and falls.share > FALLING:
        return Health(
            "under-trained",
            f"The model is under-trained: its loss still falls, by {falls.nats:.1f} nats over the last tenth of "
            f"training ({falls.share:.1%} of all that was learned). Train longer before you judge it.",
        )
    return _on_reconstructions(seen.explained)


def _on_reconstructions(explained: float | None) -> Health:
    if explained is not None and explained < BLANK:
        return Health(
            "under-trained",
            f"The model is under-trained: its reconstructions are hardly better than the mean image (they explain "
            f"{max(explained, 0):.0%} of the variance).",
        )
    if explained is not None and explained < POOR:
        return Health(
            "over-regularised",
            f"The loss has settled, but reconstructions explain only {explained:.0%} of the variance of the images: "
            f"the weight of the KL (beta) is too high for them, or the networks are too small.",
        )
    known = "" if explained is None else f": reconstructions explain {explained:.0%} of the variance"
    return Health("fine", f"The model has learned to reconstruct its data{known}.")


def _collapse(seen: Evidence) -> str:
    assert seen.kl is not None
    highest = max(seen.kls, key=lambda pair: pair[1], default=(0, 0.0))
    late = (
        f" It held {highest[1]:.1f} nats at step {highest[0]:,} and lost them."
        if highest[1] > max(4 * SILENT, 10 * seen.kl)
        else ""
    )
    return (
        f"its code holds {seen.kl:.1f} nats, so it gives nearly the same reconstruction for every image, and its other "
        f"scores mean nothing.{late}"
    )


@dataclass(frozen=True)
class Fall:
    """By how much a loss fell in the last tenth of training: in nats, and as a share of all that was learned.

    Example:
        >>> Fall(2.0, 0.02).share
        0.02
    """

    nats: float
    share: float


def fall(losses: Sequence[tuple[int, float]]) -> Fall | None:
    """The fall of the mean loss from the ninth to the last tenth of the steps; None if it cannot be told from noise.

    What was learned is the fall since the first hundredth to twenty-fifth of the steps, when a VAE gives the mean
    image; in runs of less than a hundred records, since the first three.

    Example:
        >>> round(fall([(step, 100.0 - 0.01 * step) for step in range(1, 1001)]).nats, 3)
        1.0
        >>> fall([(step, 100.0 + step % 2) for step in range(1, 1001)]) is None
        True
    """
    steps = np.array([step for step, _ in losses], dtype=np.float64)
    totals = np.array([total for _, total in losses], dtype=np.float64)
    keep = np.isfinite(totals)
    steps, totals = steps[keep], totals[keep]
    if len(steps) < FEWEST:
        return None
    last = steps[-1]
    before, after = (
        _between(steps, totals, low * last, high * last) for low, high in ((0.8, 0.9), (0.9, 1.0))
    )
    early = _between(steps, totals, 0.01 * last, 0.04 * last)
    if len(early) < 3:  # a short run
        early = totals[:3]
    if min(len(before), len(after)) < 3:
        return None
    nats = float(before.mean() - after.mean())
    noise = math.sqrt(before.var(ddof=1) / len(before) + after.var(ddof=1) / len(after))
    learned = float(np.median(early) - after.mean())
    if nats <= 3 * noise or learned <= 0:
        return None
    return Fall(nats, nats / learned)


def _between(
    steps: NDArray[np.float64], totals: NDArray[np.float64], low: float, high: float
) -> NDArray[np.float64]:
    chosen: NDArray[np.float64] = totals[(steps > low) & (steps <= high)]
    return chosen


def explained_variance(images: NDArray[Any], reconstructed: NDArray[Any]) -> float:
    """Share of the variance of images that reconstructions explain: ``1 - sum (x - r)^2 / sum (x - mean image)^2``.

    Example:
        >>> images = np.random.default_rng(0).random((50, 1, 4, 4))
        >>> explained_variance(images, images), round(explained_variance(images, images.mean(0, keepdims=True)), 6)
        (1.0, 0.0)
    """
    floats = images / 255.0 if images.dtype == np.uint8 else np.asarray(images, np.float64)
    whole = float(np.square(floats - floats.mean(axis=0)).sum())
    if whole == 0:
        return 1.0
    return 1 - float(np.square(floats - reconstructed).sum()) / whole


def losses_at_last_weights(
    history: Sequence[Mapping[str, Any]], kl_weights: Sequence[float] | None = None
) -> list[tuple[int, float]]:
    """The loss of every logged step with the weights of the last step, so that a change of weights is no learning.

    A loss of two terms, ``R + w KL`` with any schedule or ramp of ``w``, becomes ``R + w_last KL``. Of others the part
    by which the schedule multiplied the KL is exchanged: ``L - (w - w_last) KL``, where an objective's own weight of
    the KL is 1.

    Args:
        history: records with ``step`` and ``total``, and ``reconstruction`` and ``kl`` where they were logged.
        kl_weights: the factor of the KL that the schedule had at each record; none: it had none.

    Example:
        >>> early = {"step": 1, "total": 90.0, "reconstruction": 10.0, "kl": 5.0}  # weight 16
        >>> late = {"step": 2, "total": 12.0, "reconstruction": 8.0, "kl": 4.0}
        >>> losses_at_last_weights([early, late])
        [(1, 15.0), (2, 12.0)]
    """
    weights = kl_weights or [1.0] * len(history)
    records = [(r, w) for r, w in zip(history, weights, strict=True) if "total" in r]
    if not all(isinstance(record.get(key), float | int) for record, _ in records for key in _TERMS):
        return [(int(record["step"]), float(record["total"])) for record, _ in records]
    steps = np.array([int(record["step"]) for record, _ in records])
    totals, costs, kls = (np.array([float(record[key]) for record, _ in records]) for key in _TERMS)
    last = _weight_at_end(totals, costs, kls)
    if last is not None:
        found = costs + last * kls
    else:
        factors = np.array([weight for _, weight in records])
        found = totals - (factors - factors[-1:]) * kls
    return list(zip(steps.tolist(), found.tolist(), strict=True))


_TERMS = ("total", "reconstruction", "kl")


def _weight_at_end(
    totals: NDArray[np.float64], costs: NDArray[np.float64], kls: NDArray[np.float64]
) -> float | None:
    """The weight of the KL in the last tenth of the records, if the loss is reconstruction and KL there, else none."""
    end = slice(-max(1, len(totals) // 10), None)
    rest, kl = (totals - costs)[end], kls[end]
    if not (np.isfinite(rest).all() and np.isfinite(kl).all() and kl.sum() > 0):
        return None
    weight = float(rest.sum() / kl.sum())
    # Numbers are logged in single precision.
    exact = np.abs(rest - weight * kl).max() <= 1e-5 * np.abs(totals[end]).max()
    return weight if exact else None


def evidence(
    status: str,
    history: Sequence[Mapping[str, Any]],
    scores: Mapping[str, Any],
    explained: float | None = None,
    kl_weights: Sequence[float] | None = None,
) -> Evidence:
    """The evidence in the records and scores of a run; ``kl_weights`` are the schedule's factors of the KL.

    Example:
        >>> evidence("finished", [{"step": 1, "total": 5.0, "kl": 0.1}], {}).losses
        [(1, 5.0)]
    """
    kl, used = scores.get("kl"), scores.get("latents_used")
    return Evidence(
        status,
        None if kl is None else float(kl.value),
        None if used is None else float(used.value),
        explained,
        losses_at_last_weights(history, kl_weights),
        [
            (int(record["step"]), float(record["kl"]))
            for record in history
            if isinstance(record.get("kl"), float)
        ],
    )
