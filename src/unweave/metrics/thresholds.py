"""Linear support vector machines on a single code: thresholds, found by counting instead of looking at every sample."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unweave.metrics.validation import Floats, Integers


def fit_thresholds(
    code: Floats,
    labels: Integers,
    classes: int,
    *,
    penalty: float = 0.01,
    balanced: bool = True,
    start: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Slopes and intercepts (classes,) of one-against-the-rest linear support vector machines on a single code.

    Each minimises ``(w^2 + b^2) / 2 + C sum_i c_i max(0, 1 - y_i (w z_i + b))^2``, with ``c_i = n / (classes n_k)`` for
    the samples of the class and 1 for the rest (both classes weighted if there are only two), as scikit-learn's
    ``LinearSVC(C=0.01, class_weight="balanced")`` does. All classes are solved at once, by Newton's method; the samples
    within the margin are those below or above a threshold, so sums over them come from cumulated sums of sorted codes.

    Args:
        code: (n,).
        labels: (n,) classes 0 .. classes-1.
        classes: how many.
        penalty: C.
        balanced: weigh the classes.
        start: slopes and intercepts to begin with, e.g. the solution for nearly the same samples.

    Example:
        >>> slopes, intercepts = fit_thresholds(np.array([0.0, 0.1, 2.0, 2.1]), np.array([0, 0, 1, 1]), 2, penalty=1.0)
        >>> bool(slopes[1] > 0 > slopes[0])
        True

    """
    n = len(code)
    counts = np.bincount(labels, minlength=classes)
    weight = n / (classes * np.maximum(counts, 1)) if balanced else np.ones(classes)
    rest = weight[::-1] if classes == 2 else np.ones(classes)
    sums = _Sums.of(code, labels, counts)
    own, others = penalty * weight, penalty * rest
    w, b = (np.zeros(classes), np.zeros(classes)) if start is None else start
    value, slopes, curves = _cost(sums, own, others, w, b)
    for _ in range(50):
        det = curves[0] * curves[2] - curves[1] ** 2
        sw = (curves[2] * slopes[0] - curves[1] * slopes[1]) / det
        sb = (curves[0] * slopes[1] - curves[1] * slopes[0]) / det
        gain = slopes[0] * sw + slopes[1] * sb
        size = np.ones(classes)
        for _ in range(20):
            tried, slopes_there, curves_there = _cost(sums, own, others, w - size * sw, b - size * sb)
            bad = tried > value - 1e-4 * size * gain
            if not bad.any():
                break
            size[bad] /= 2
        better = tried < value
        w, b = np.where(better, w - size * sw, w), np.where(better, b - size * sb, b)
        value = np.minimum(tried, value)
        slopes, curves = np.where(better, slopes_there, slopes), np.where(better, curves_there, curves)
        if np.all(gain < 1e-12 * n * penalty) or not better.any():
            break
    return w, b


@dataclass(frozen=True)
class _Sums:
    """Cumulated 1, z and z^2 of sorted codes less their mean: of all, and of each class."""

    codes: Floats
    middle: float
    whole: Floats
    keys: Integers
    parts: Floats
    starts: Integers
    ends: Integers

    @classmethod
    def of(cls, code: Floats, labels: Integers, counts: Integers) -> "_Sums":
        middle = float(code.mean())
        order = np.argsort(code, kind="stable")
        z = code[order] - middle
        # By class and, within it, by code; small numbers are sorted by their digits.
        sorted_labels = labels[order]
        ranks = np.argsort(
            sorted_labels.astype(np.int16) if len(counts) < 30_000 else sorted_labels, kind="stable"
        )
        ends = np.cumsum(counts)
        keys = np.repeat(np.arange(len(counts)), counts) * (len(z) + 1) + ranks
        return cls(z, middle, _cumulated(z), keys, _cumulated(z[ranks]), ends - counts, ends)

    def within(self, edge: Floats, below: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The sums (3, classes) over all codes, and over those of the class, below or above an edge for each class."""
        at = np.searchsorted(self.codes, edge)
        whole = self.whole[:, at]
        own = self.parts[:, np.searchsorted(self.keys, np.arange(len(edge)) * (len(self.codes) + 1) + at)]
        of_all = np.where(below, whole, self.whole[:, -1:] - whole)
        of_class = np.where(below, own - self.parts[:, self.starts], self.parts[:, self.ends] - own)
        return of_all, of_class


def _cumulated(z: Floats) -> Floats:
    table = np.zeros((3, len(z) + 1))
    table[0] = np.arange(len(z) + 1)
    np.cumsum(z, out=table[1, 1:])
    np.cumsum(z * z, out=table[2, 1:])
    return table


def _cost(sums: _Sums, own: Floats, others: Floats, w: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """The cost of each machine (classes,), its gradient by w and b (2, classes), and its Hessian ww, wb, bb."""
    shift = b + w * sums.middle
    flat = np.abs(w) < 1e-300
    safe = np.where(flat, 1e-300, w)
    with np.errstate(over="ignore"):
        near, far = (1 - shift) / safe, (-1 - shift) / safe
    _, inside = sums.within(near, w >= 0)
    of_all, of_class = sums.within(far, w < 0)
    outside = of_all - of_class
    # Losses p - w z of the class and q + w z of the rest; ``one``, ``by_z`` and ``by_zz`` weigh their sums.
    p, q = 1 - shift, 1 + shift
    one, by_z, by_zz = own * inside + others * outside
    pull = others * (q * outside[0] + w * outside[1]) - own * (p * inside[0] - w * inside[1])
    pull_z = others * (q * outside[1] + w * outside[2]) - own * (p * inside[1] - w * inside[2])
    squares = own * (p * p * inside[0] - 2 * p * w * inside[1] + w * w * inside[2])
    squares += others * (q * q * outside[0] + 2 * q * w * outside[1] + w * w * outside[2])
    m = sums.middle
    slopes = np.stack([w + 2 * (pull_z + m * pull), b + 2 * pull])
    curves = np.stack([1 + 2 * (by_zz + 2 * m * by_z + m * m * one), 2 * (by_z + m * one), 1 + 2 * one])
    return 0.5 * (w * w + b * b) + squares, slopes, curves


def envelope(slopes: Floats, intercepts: Floats) -> tuple[Floats, Integers]:
    """Where the largest of some lines changes, (m - 1,) ascending, and which line it is in between, (m,).

    Of equal lines the first counts.

    Example:
        >>> breaks, lines = envelope(np.array([-1.0, 1.0, 0.0]), np.array([0.0, 0.0, -5.0]))
        >>> breaks.tolist(), lines.tolist()
        ([0.0], [0, 1])

    """
    order = np.lexsort((np.arange(len(slopes)), -intercepts, slopes))
    lines: list[int] = []
    breaks: list[float] = []
    for k in order.tolist():
        if lines and slopes[lines[-1]] == slopes[k]:
            continue  # parallel and not above
        while lines:
            last = lines[-1]
            at = float((intercepts[last] - intercepts[k]) / (slopes[k] - slopes[last]))
            if not breaks or at > breaks[-1]:
                breaks.append(at)
                break
            lines.pop()
            breaks.pop()
        lines.append(k)
    return np.array(breaks), np.array(lines, dtype=np.int64)
