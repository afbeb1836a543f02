"""All metrics by name, what each needs, and all of them at once on codes encoded once."""

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, plain, unknown
from unweave.metrics.aggregate import decomposition, gaussian_total_correlation
from unweave.metrics.beta_vae import beta_vae_score
from unweave.metrics.dci import dci, has_lightgbm
from unweave.metrics.downstream import downstream_accuracy
from unweave.metrics.factor_vae import factor_vae_score
from unweave.metrics.hoyer import hoyer
from unweave.metrics.infomec import infomec
from unweave.metrics.irs import irs
from unweave.metrics.mig import mig
from unweave.metrics.modularity import explicitness, modularity
from unweave.metrics.sampled_mig import sampled_mig
from unweave.metrics.sap import sap
from unweave.metrics.score import Score
from unweave.metrics.validation import check_codes, check_count, check_pair, check_scales


@dataclass(frozen=True)
class Encoded:
    """What metrics look at: codes (n, latents), and factors (n, K) and scales (n, latents) if they are known.

    Example:
        >>> sorted(Encoded.of([[0.1], [0.2]], [[0], [1]]).has)
        ['codes', 'factors']
    """

    codes: NDArray[np.float64]
    factors: NDArray[Any] | None = None
    scales: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls, codes: ArrayLike, factors: ArrayLike | None = None, scales: ArrayLike | None = None
    ) -> "Encoded":
        """Checked arrays; factors with one value only, on which nothing can depend, are left out."""
        if factors is None:
            z = check_codes(codes)
            return cls(z, None, None if scales is None else check_scales(scales, z))
        z, table = check_pair(codes, factors)
        varying = [k for k in range(table.shape[1]) if np.any(table[:, k] != table[0, k])]
        if not varying:
            raise UnweaveError("every factor has one value only in all samples: sample more widely")
        return cls(z, table[:, varying], None if scales is None else check_scales(scales, z))

    @classmethod
    def load(cls, path: Path | str) -> "Encoded":
        """The arrays of an npz file: ``codes`` (or ``means``), ``factors`` and ``scales``, the last two if there.

        Example:
            >>> import tempfile
            >>> path = Path(tempfile.mkdtemp()) / "codes.npz"
            >>> np.savez(path, codes=np.zeros((3, 2)))
            >>> Encoded.load(path).codes.shape
            (3, 2)
        """
        path = Path(path)
        try:
            with np.load(path, allow_pickle=False) as kept:
                arrays = {
                    name: kept[name] for name in kept.files if name in ("codes", "means", "factors", "scales")
                }
        except FileNotFoundError:
            raise UnweaveError(f"{path} does not exist") from None
        except Exception as error:  # whatever numpy makes of a file that is no npz
            raise UnweaveError(f"{path} is not an npz file of arrays: {error}") from None
        codes = arrays.get("codes", arrays.get("means"))
        if codes is None:
            raise UnweaveError(
                f"{path} must hold an array codes (n, latents), and factors (n, K) and scales if known; "
                f"write it with np.savez({str(path)!r}, codes=..., factors=...)"
            )
        return cls.of(codes, arrays.get("factors"), arrays.get("scales"))

    @property
    def has(self) -> frozenset[str]:
        """Names of the arrays that are there."""
        present = {"codes": self.codes, "factors": self.factors, "scales": self.scales}
        return frozenset(name for name, array in present.items() if array is not None)


@dataclass(frozen=True)
class Metric:
    """A metric: how to compute it from encoded data, what it needs, the scores it gives, and what they say.

    ``standard`` metrics are computed when none are named.

    Example:
        >>> sorted(METRICS["mig"].needs)
        ['codes', 'factors']
    """

    name: str
    compute: Callable[[Encoded, np.random.Generator], Score | dict[str, Score]]
    needs: frozenset[str]
    labels: Mapping[str, str]
    sentence: str
    standard: bool = True


METRICS: dict[str, Metric] = {}
"""Metrics by name."""


Compute = Callable[[Encoded, np.random.Generator], Score | dict[str, Score]]


def _metric(
    name: str, needs: str, labels: Mapping[str, str], sentence: str, standard: bool = True
) -> Callable[[Compute], Compute]:
    def add(compute: Compute) -> Compute:
        METRICS[name] = Metric(name, compute, frozenset(needs.split()), labels, sentence, standard)
        return compute

    return add


@_metric(
    "mig", "codes factors", {"mig": "MIG"}, "1 if each factor sits in one latent of its own (binned means)."
)
def _mig(e: Encoded, rng: np.random.Generator) -> Score:
    return mig(e.codes, e.factors)  # type: ignore[arg-type]


@_metric(
    "sampled_mig",
    "codes factors scales",
    {"sampled_mig": "MIG, sampled"},
    "The gap of its authors: samples of q(z), exact mixture over the codes given.",
)
def _sampled_mig(e: Encoded, rng: np.random.Generator) -> Score:
    return sampled_mig(e.codes, e.scales, e.factors, rng, samples=1_000)  # type: ignore[arg-type]


@_metric(
    "factor_vae_score",
    "codes factors",
    {"factor_vae_score": "FactorVAE score"},
    "How often the fixed factor is guessed from the latent that varies least.",
)
def _factor_vae(e: Encoded, rng: np.random.Generator) -> Score:
    return factor_vae_score(e.codes, e.factors, rng, scales=e.scales)  # type: ignore[arg-type]


@_metric(
    "beta_vae_score",
    "codes factors",
    {"beta_vae_score": "beta-VAE score"},
    "How often a linear classifier guesses the shared factor from mean differences; blind to one missing factor.",
)
def _beta_vae(e: Encoded, rng: np.random.Generator) -> Score:
    return beta_vae_score(e.codes, e.factors, rng)  # type: ignore[arg-type]


@_metric(
    "dci",
    "codes factors",
    {
        "dci": "DCI disentanglement",
        "dci_completeness": "DCI completeness",
        "dci_informativeness": "DCI informativeness",
    },
    "Whether each latent serves one factor, each factor needs one latent, and trees predict the factors.",
)
def _dci(e: Encoded, rng: np.random.Generator) -> dict[str, Score]:
    return dci(e.codes, e.factors, rng, backend="lightgbm" if has_lightgbm() else "forest")  # type: ignore[arg-type]


@_metric(
    "sap",
    "codes factors",
    {"sap": "SAP"},
    "How much better the best single latent predicts a factor than the next.",
)
def _sap(e: Encoded, rng: np.random.Generator) -> Score:
    return sap(e.codes, e.factors, rng)  # type: ignore[arg-type]


@_metric(
    "modularity", "codes factors", {"modularity": "modularity"}, "1 if each latent knows one factor at most."
)
def _modularity(e: Encoded, rng: np.random.Generator) -> Score:
    return modularity(e.codes, e.factors)  # type: ignore[arg-type]


@_metric(
    "explicitness",
    "codes factors",
    {"explicitness": "explicitness"},
    "How well a linear classifier ranks each value of each factor; 0.5 is guessing.",
)
def _explicitness(e: Encoded, rng: np.random.Generator) -> Score:
    return explicitness(e.codes, e.factors, rng)  # type: ignore[arg-type]


@_metric("irs", "codes factors", {"irs": "IRS"}, "1 if each latent stands still while its factor does.")
def _irs(e: Encoded, rng: np.random.Generator) -> Score:
    return irs(e.codes, e.factors)  # type: ignore[arg-type]


@_metric(
    "infomec",
    "codes factors",
    {
        "infomec_modularity": "InfoM",
        "infomec_compactness": "InfoC",
        "infomec_explicitness": "InfoE",
    },
    "Modularity, compactness and explicitness as shares of information.",
)
def _infomec(e: Encoded, rng: np.random.Generator) -> dict[str, Score]:
    return infomec(e.codes, e.factors)  # type: ignore[arg-type]


@_metric(
    "downstream_accuracy",
    "codes factors",
    {"downstream_accuracy": "downstream accuracy"},
    "How well logistic regression reads the factors off the codes.",
)
def _downstream(e: Encoded, rng: np.random.Generator) -> Score:
    return downstream_accuracy(e.codes, e.factors, rng)  # type: ignore[arg-type]


@_metric(
    "hoyer",
    "codes",
    {"hoyer": "Hoyer sparsity"},
    "1 if all but one entry of every code are zero, 0 if all are alike.",
)
def _hoyer(e: Encoded, rng: np.random.Generator) -> dict[str, Score]:
    return {"hoyer": hoyer(e.codes)} if e.codes.shape[1] > 1 else {}


@_metric(
    "decomposition",
    "codes scales",
    {
        "index_code_mi": "index-code MI",
        "total_correlation": "total correlation",
        "dimension_wise_kl": "dimension-wise KL",
    },
    "The three parts of the mean KL to N(0, I): information about the image, dependence of latents, marginals.",
)
def _decomposition(e: Encoded, rng: np.random.Generator) -> dict[str, Score]:
    return decomposition(e.codes, e.scales, rng, samples=1_000)  # type: ignore[arg-type]


@_metric(
    "gaussian_total_correlation",
    "codes",
    {"gaussian_total_correlation": "Gaussian TC"},
    "Total correlation of a Gaussian with the covariance of the codes.",
    standard=False,
)
def _gaussian(e: Encoded, rng: np.random.Generator) -> Score:
    return gaussian_total_correlation(e.codes)


def choose_metrics(names: Iterable[str] | None, *, more: Iterable[str] = ()) -> list[str]:
    """Names of metrics as written, in any case and with any hyphens; ``None`` or "all": the standard ones.

    Args:
        names: as given by the user.
        more: names of scores that are computed elsewhere and allowed as well.

    Example:
        >>> choose_metrics(["MIG", "factor-vae-score"])
        ['mig', 'factor_vae_score']
    """
    known = {plain(name): name for name in [*METRICS, *more]}
    chosen: list[str] = []
    for name in names if names is not None else ["all"]:
        if plain(name) == "all":
            chosen += [m.name for m in METRICS.values() if m.standard]
        elif plain(name) in known:
            chosen.append(known[plain(name)])
        else:
            raise unknown("metric", name, known.values())
    return list(dict.fromkeys(chosen))


def score_all(
    encoded: Encoded,
    names: Iterable[str] | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Score]:
    """Every metric that is asked for, or every standard one that the arrays allow.

    Each metric draws from its own stream of random numbers, so its value does not depend on what else is computed.

    Args:
        encoded: the arrays.
        names: metrics; by default the standard ones whose needs are met.
        seed: of all draws.
        threads: metrics computed at a time; the numbers do not depend on it.
        tell: told what is being done.

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8)), -1).reshape(-1, 2)
        >>> scores = score_all(Encoded.of(v * 1.0, v), ["mig", "modularity"])
        >>> {name: round(score.value, 3) for name, score in scores.items()}
        {'mig': 1.0, 'modularity': 1.0}

    """
    from concurrent.futures import ThreadPoolExecutor

    threads = check_count("threads", threads, 1)
    chosen = choose_metrics(names)
    for name in list(chosen):
        if missing := sorted(METRICS[name].needs - encoded.has):
            if names is not None:
                raise UnweaveError(
                    f"{name} needs {' and '.join(missing)}, which are not given; there are {_listed(encoded.has)}"
                )
            chosen.remove(name)
    done = 0

    def measure(name: str) -> dict[str, Score]:
        nonlocal done
        tell(f"{name} ({done + 1} of {len(chosen)} metrics)")
        found = METRICS[name].compute(encoded, np.random.default_rng([seed, zlib.crc32(name.encode())]))
        done += 1
        return found if isinstance(found, dict) else {found.name: found}

    if threads == 1:
        parts = {name: measure(name) for name in chosen}
    else:
        with ThreadPoolExecutor(threads) as pool:
            # The slow ones first, so that no thread is left alone with one of them at the end.
            waiting = {
                name: pool.submit(measure, name) for name in sorted(chosen, key=lambda n: n not in _SLOW)
            }
            parts = {name: future.result() for name, future in waiting.items()}
    return {score: value for name in chosen for score, value in parts[name].items()}


_SLOW = ("dci", "infomec", "sampled_mig")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def label_of(score: str) -> str | None:
    """How a score is called in tables and on pages, if a metric here gives it.

    Example:
        >>> label_of("dci_completeness"), label_of("elbo")
        ('DCI completeness', None)
    """
    for metric in METRICS.values():
        if score in metric.labels:
            return metric.labels[score]
    return None


def sentence_of(score: str) -> str:
    """What a score says in one sentence, or nothing if no metric here gives it.

    Example:
        >>> sentence_of("irs")
        '1 if each latent stands still while its factor does.'
    """
    for metric in METRICS.values():
        if score in metric.labels:
            return metric.sentence
    return ""
