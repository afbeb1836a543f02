"""All metrics by name, metrics from outside, and all of them at once on codes encoded once."""

import inspect
import zlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from unweave import references
from unweave.errors import UnweaveError, plain, unknown
from unweave.metrics.beta_vae import beta_vae_score
from unweave.metrics.dci import dci
from unweave.metrics.decomposition import decomposition, gaussian_total_correlation
from unweave.metrics.downstream import downstream_accuracy
from unweave.metrics.explicitness import explicitness
from unweave.metrics.factor_vae import factor_vae_score
from unweave.metrics.gaps import dcimig, jemmig, mcc, mig_sup
from unweave.metrics.hoyer import hoyer
from unweave.metrics.infomec import infomec
from unweave.metrics.irs import irs
from unweave.metrics.metric import ARRAYS, Answer, AnyMetric, Encoded, FunctionMetric, Metric
from unweave.metrics.mig import mig
from unweave.metrics.modularity import modularity
from unweave.metrics.sampled_mig import sampled_mig
from unweave.metrics.sap import sap
from unweave.metrics.score import Score
from unweave.metrics.validation import Floats, check_count
from unweave.metrics.z_max_variance import z_max_variance

MetricLike = str | AnyMetric | type[AnyMetric] | Callable[..., Answer]
"""A metric by name or reference, as an object, as a class, or as a function of codes, factors, scales and rng."""

GROUP = "unweave.metrics"
"""Entry points under which installed packages register metrics."""


def _sampled_mig(
    codes: Floats,
    scales: Floats,
    factors: NDArray[np.generic],
    rng: np.random.Generator,
    interval: bool = True,
) -> Score:
    return sampled_mig(codes, scales, factors, rng, interval=interval)


def _hoyer(codes: Floats, interval: bool = True) -> dict[str, Score]:
    return {"hoyer": hoyer(codes, interval=interval)} if codes.shape[1] > 1 else {}


def _decomposition(
    codes: Floats, scales: Floats, rng: np.random.Generator, interval: bool = True
) -> dict[str, Score]:
    return decomposition(codes, scales, rng, interval=interval)


def _builtin(
    function: Callable[..., Answer],
    sentence: str,
    name: str | None = None,
    standard: bool = True,
    **labels: str,
) -> FunctionMetric:
    return FunctionMetric(function, name, labels or None, sentence, standard)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _builtin(mig, "1 if each factor sits in one latent of its own (binned means).", mig="MIG"),
        _builtin(
            _sampled_mig,
            "The gap as its authors define it: samples of q(z), exact mixture over the given codes.",
            "sampled_mig",
            sampled_mig="MIG, sampled",
        ),
        _builtin(
            factor_vae_score,
            "How often the fixed factor is guessed from the latent that varies least.",
            factor_vae_score="FactorVAE score",
        ),
        _builtin(
            beta_vae_score,
            "How often a linear classifier guesses the shared factor from mean differences; "
            "blind to one missing factor.",
            beta_vae_score="beta-VAE score",
        ),
        _builtin(
            dci,
            "Whether each latent serves one factor, each factor needs one latent, and trees predict the factors.",
            dci="DCI disentanglement",
            dci_completeness="DCI completeness",
            dci_informativeness="DCI informativeness",
        ),
        _builtin(sap, "How much better the best single latent predicts a factor than the next.", sap="SAP"),
        _builtin(modularity, "1 if each latent knows one factor at most."),
        _builtin(
            explicitness, "How well a linear classifier ranks each value of each factor; 0.5 is guessing."
        ),
        _builtin(irs, "1 if each latent stays constant while its factor does.", irs="IRS"),
        _builtin(
            infomec,
            "Modularity, compactness and explicitness as shares of information.",
            infomec_modularity="InfoM",
            infomec_compactness="InfoC",
            infomec_explicitness="InfoE",
        ),
        _builtin(downstream_accuracy, "How well logistic regression reads the factors off the codes."),
        _builtin(
            _hoyer,
            "1 if all but one entry of every code are zero, 0 if all are alike.",
            "hoyer",
            hoyer="Hoyer sparsity",
        ),
        _builtin(
            _decomposition,
            "The three parts of the mean KL to N(0, I): information about the image, dependence of latents, "
            "marginals.",
            "decomposition",
            index_code_mi="index-code MI",
            total_correlation="total correlation",
            dimension_wise_kl="dimension-wise KL",
        ),
        _builtin(
            gaussian_total_correlation,
            "Total correlation of a Gaussian with the covariance of the codes.",
            standard=False,
            gaussian_total_correlation="Gaussian TC",
        ),
        _builtin(
            mcc,
            "Mean correlation of each factor with a latent of its own; of the identifiability literature.",
            standard=False,
            mcc="MCC",
        ),
        _builtin(
            z_max_variance,
            "How often the varied factor is guessed from the latent that varies most.",
            standard=False,
            z_max_variance="Z-max variance",
        ),
        _builtin(mig_sup, "1 if each latent knows one factor alone.", standard=False, mig_sup="MIG-sup"),
        _builtin(
            jemmig,
            "1 if each factor has one latent of its own that knows nothing else.",
            standard=False,
            jemmig="JEMMIG",
        ),
        _builtin(
            dcimig,
            "The part of the factors' entropy that sits in latents which know one factor more than others.",
            standard=False,
            dcimig="DCIMIG",
        ),
    )
}
"""The built-in metrics by name; further ones may be added."""

_SLOW = ("dci", "infomec", "sampled_mig")
"""Started first where several metrics are computed at a time, so that no thread ends alone with one of them."""

_USED: dict[str, AnyMetric] = {}
"""Metrics that are not in ``METRICS`` and were chosen in this process, for their labels."""


def resolve_metric(given: MetricLike, *, more: Mapping[str, AnyMetric] | None = None) -> AnyMetric:
    """The metric that a name, a reference, an object, a class or a function stands for.

    Args:
        given: a name of ``METRICS``, of ``more`` or of an installed package (case, hyphens and underscores do not
            count), ``"package.module:Name"``, ``"path/to/file.py:Name"``, or the thing itself.
        more: further metrics by name.

    Example:
        >>> resolve_metric("Factor-VAE-score").name
        'factor_vae_score'
        >>> resolve_metric("unweave.metrics.sap:sap").needs == {"codes", "factors"}
        True
    """
    if not isinstance(given, str):
        return _outside(given, repr(given))
    if references.is_reference(given):
        return _outside(references.import_object(given), given)
    known = {**METRICS, **(more or {})}
    installed = references.entry_points_of(GROUP)
    names = {plain(name): name for name in (*installed, *known)}  # built-in ones count first
    if plain(given) not in names:
        raise unknown("metric", given, names.values())
    name = names[plain(given)]
    return known[name] if name in known else _outside(references.load_entry_point(installed[name]), name)


def choose_metrics(
    given: Iterable[MetricLike] | None, *, more: Mapping[str, AnyMetric] | None = None
) -> list[AnyMetric]:
    """The metrics that are asked for, each once; ``None`` or "all": the standard ones of ``METRICS``.

    Args:
        given: as for :func:`resolve_metric`.
        more: further metrics by name, such as those that need a model.

    Example:
        >>> [metric.name for metric in choose_metrics(["MIG", "factor-vae-score"])]
        ['mig', 'factor_vae_score']
    """
    chosen: dict[str, AnyMetric] = {}
    for one in given if given is not None else ["all"]:
        everything = isinstance(one, str) and plain(one) == "all"
        found = _standard() if everything else [resolve_metric(one, more=more)]
        for metric in found:
            if not _same(chosen.setdefault(metric.name, metric), metric):
                raise UnweaveError(f"two different metrics are called {metric.name}: rename one of them")
    return list(chosen.values())


def metric_spelling(given: str, *, more: Mapping[str, AnyMetric] | None = None) -> str:
    """The text by which a study stores a metric: its name as registered, or the reference, which is imported once.

    Example:
        >>> metric_spelling("Factor-VAE-score"), metric_spelling("unweave.metrics.sap:sap")
        ('factor_vae_score', 'unweave.metrics.sap:sap')
    """
    metric = resolve_metric(given, more=more)
    return given if references.is_reference(given) else metric.name


def score_all(
    encoded: Encoded,
    metrics: Iterable[MetricLike] | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
    interval: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Score]:
    """Every metric that is asked for, or every standard one that the arrays allow.

    Each metric draws from its own stream of random numbers, so its value does not depend on what else is computed.

    Args:
        encoded: the arrays.
        metrics: as for :func:`resolve_metric`; by default the standard ones whose needs are met.
        seed: of all draws.
        threads: metrics computed at a time; the numbers do not depend on it.
        interval: whether to compute intervals, which takes longer; functions that have such a parameter are told.
        tell: called with a line of text when a metric begins.

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8)), -1).reshape(-1, 2)
        >>> scores = score_all(Encoded.of(v * 1.0, v), ["mig", "modularity"])
        >>> {name: round(score.value, 3) for name, score in scores.items()}
        {'mig': 1.0, 'modularity': 1.0}

    """
    threads = check_count("threads", threads, 1)
    chosen = _computable(choose_metrics(metrics), encoded, explicit=metrics is not None)
    begun = 0

    def measure(metric: Metric) -> dict[str, Score]:
        nonlocal begun
        begun += 1
        tell(f"{metric.name} ({begun} of {len(chosen)} metrics)")
        stream = np.random.default_rng([seed, zlib.crc32(metric.name.encode())])
        if isinstance(metric, FunctionMetric):
            return _scores(metric, metric.compute(encoded, stream, interval=interval))
        return _scores(metric, metric.compute(encoded, stream))

    if threads == 1:
        parts = {metric.name: measure(metric) for metric in chosen}
    else:
        with ThreadPoolExecutor(threads) as pool:
            order = sorted(chosen, key=lambda metric: metric.name not in _SLOW)
            waiting = {metric.name: pool.submit(measure, metric) for metric in order}
            parts = {name: future.result() for name, future in waiting.items()}
    return {score: value for metric in chosen for score, value in parts[metric.name].items()}


def metric_of(score: str) -> AnyMetric | None:
    """The metric that gives a score: a built-in one, or one from outside that was used in this process.

    Example:
        >>> metric_of("dci_completeness").name, metric_of("elbo")
        ('dci', None)
    """
    return next((m for m in (*METRICS.values(), *_USED.values()) if score in m.labels), None)


def label_of(score: str) -> str:
    """How a score is called in tables and on pages; its own name if no metric that is known here gives it.

    Example:
        >>> label_of("dci_completeness"), label_of("log_likelihood")
        ('DCI completeness', 'log likelihood')
    """
    metric = metric_of(score)
    return score.replace("_", " ") if metric is None else metric.labels[score]


def sentence_of(score: str) -> str:
    """What a score says in one sentence; empty if no metric that is known here gives it.

    Example:
        >>> sentence_of("irs")
        '1 if each latent stays constant while its factor does.'
    """
    metric = metric_of(score)
    return "" if metric is None else metric.sentence


def _standard() -> list[AnyMetric]:
    return [metric for metric in METRICS.values() if metric.standard]


def _same(one: AnyMetric, other: AnyMetric) -> bool:
    """Whether two metrics compute the same: one object, two instances of a class, or one function twice."""
    if isinstance(one, FunctionMetric) and isinstance(other, FunctionMetric):
        return one.function is other.function
    return one is other or (type(one) is type(other) and repr(vars(one)) == repr(vars(other)))


def _outside(given: object, source: str) -> AnyMetric:
    """A metric that is not in a table, from an object, a class or a function."""
    if isinstance(given, type) and issubclass(given, AnyMetric):
        metric = _instance(given, source)
    elif isinstance(given, AnyMetric):
        metric = given
    elif callable(given) and not isinstance(given, type):
        metric = FunctionMetric(given)
    else:
        raise UnweaveError(
            f"{source} is not a metric: give a name, a Metric, or a function of codes, factors, scales and rng"
        )
    if not isinstance(getattr(metric, "name", None), str) or not metric.name:
        raise UnweaveError(f"{source} has no name: set name = '...' in the class of the metric")
    if isinstance(metric, Metric):
        needs = getattr(metric, "needs", None)
        if not isinstance(needs, set | frozenset) or not needs <= set(ARRAYS):
            raise UnweaveError(
                f"needs of the metric {metric.name} must be a set of {', '.join(ARRAYS)}, got {needs!r}"
            )
    if METRICS.get(metric.name) is not metric:
        _USED[metric.name] = metric
    return metric


def _instance(given: type[AnyMetric], source: str) -> AnyMetric:
    if inspect.isabstract(given):
        missing = ", ".join(sorted(given.__abstractmethods__))
        raise UnweaveError(f"{source} is abstract: it must define {missing}")
    try:
        return given()
    except TypeError as error:
        raise UnweaveError(f"{source} cannot be made without arguments ({error}): pass an instance") from None


def _computable(chosen: list[AnyMetric], encoded: Encoded, *, explicit: bool) -> list[Metric]:
    """The metrics whose needs are met; an error for one that was asked for explicitly."""
    found = []
    for metric in chosen:
        if not isinstance(metric, Metric):
            raise UnweaveError(f"{metric.name} needs a model, codes are not enough: evaluate a run")
        missing = sorted(metric.needs - encoded.has)
        if not missing:
            found.append(metric)
        elif explicit:
            raise UnweaveError(
                f"{metric.name} needs {' and '.join(missing)}, which are not given; "
                f"there are {', '.join(sorted(encoded.has))}"
            )
    return found


def _scores(metric: Metric, answer: Score | dict[str, Score]) -> dict[str, Score]:
    found = {answer.name: answer} if isinstance(answer, Score) else answer
    if not isinstance(found, dict) or not all(isinstance(score, Score) for score in found.values()):
        raise UnweaveError(f"{metric.name} must answer with a Score or a dictionary of them, got {answer!r}")
    return found
