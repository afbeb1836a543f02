"""All metrics by name, metrics from outside, and all of them at once on codes encoded once."""

import functools
import inspect
import itertools
import shlex
import zlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave import references
from unweave.errors import UnweaveError, plain, unknown
from unweave.metrics.agreement import Sensitivity
from unweave.metrics.beta_vae import beta_vae_score
from unweave.metrics.dci import dci
from unweave.metrics.dci_es import dci_es
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
from unweave.metrics.sampled_mig import sampled_mig, subspace_mig
from unweave.metrics.sap import sap
from unweave.metrics.score import Score
from unweave.metrics.validation import Floats, check_count
from unweave.metrics.z_max_variance import z_max_variance

MetricLike = str | AnyMetric | type[AnyMetric] | Callable[..., Answer]
"""A metric by name or reference, as an object, as a class, or as a function of codes, factors, scales and rng."""

GROUP = "unweave.metrics"
"""Entry points under which installed packages register metrics."""


@functools.wraps(hoyer)
def _hoyer(codes: Floats, **options: Any) -> dict[str, Score]:
    return {"hoyer": hoyer(codes, **options)} if codes.shape[1] > 1 else {}


def _subspace_mig(
    means: Floats,
    scales: Floats,
    factors: NDArray[np.generic],
    rng: np.random.Generator,
    *,
    subspaces: tuple[int, ...] = (),
    samples: int = 1_000,
    drop: tuple[int, ...] = (),
    interval: bool = True,
) -> Score:
    sizes = subspaces or (1,) * means.shape[1]  # every latent alone, until others are given
    return subspace_mig(
        means, scales, factors, rng, subspaces=sizes, samples=samples, drop=drop, interval=interval
    )


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
            sampled_mig,
            "The gap as its authors define it: samples of q(z), exact mixture over the given codes.",
            "sampled_mig",
            sampled_mig="MIG, sampled",
        ),
        _builtin(
            _subspace_mig,
            "The sampled gap between subspaces of latents instead of latents.",
            "subspace_mig",
            standard=False,
            subspace_mig="subspace MIG",
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
            decomposition,
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
            dci_es,
            "How little capacity predictors of the factors need, and factors for each latent.",
            standard=False,
            dci_explicitness="DCI explicitness",
            dci_size="DCI size",
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
            count), ``"package.module:Name"``, ``"path/to/file.py:Name"``, each with options behind it as in
            ``"mig bins=30"``, or the thing itself.
        more: further metrics by name.

    Example:
        >>> resolve_metric("Factor-VAE-score").name
        'factor_vae_score'
        >>> resolve_metric("unweave.metrics.sap:sap").needs == {"codes", "factors"}
        True
        >>> resolve_metric("MIG bins=30 mode=disentanglement_lib").suffix  # the mode is the default
        ' bins=30'
    """
    if not isinstance(given, str):
        return _outside(given, repr(given))
    given, options = split_options(given)
    if options:
        found = resolve_metric(given, more=more).with_options(options)
        _USED[found.name + found.suffix] = found
        return found
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
            if not _same(chosen.setdefault(metric.name + metric.suffix, metric), metric):
                raise UnweaveError(f"two different metrics are called {metric.name}: rename one of them")
    return list(chosen.values())


def metric_spelling(given: str, *, more: Mapping[str, AnyMetric] | None = None) -> str:
    """The text by which a study stores a metric: its name as registered, or the reference, which is imported once.

    Example:
        >>> metric_spelling("Factor-VAE-score"), metric_spelling("unweave.metrics.sap:sap")
        ('factor_vae_score', 'unweave.metrics.sap:sap')
    """
    metric = resolve_metric(given, more=more)
    name = split_options(given)[0]
    return (name if references.is_reference(name) else metric.name) + metric.suffix


def split_options(given: str) -> tuple[str, dict[str, Any]]:
    """The name of a metric, and the options behind it, as YAML reads their values.

    Example:
        >>> split_options("mig bins=30 drop=[0,1]")
        ('mig', {'bins': 30, 'drop': [0, 1]})
    """
    import yaml

    name, *words = shlex.split(given) if "=" in given else (given,)
    options = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise UnweaveError(f"{given!r}: options of a metric are option=value, got {word!r}")
        options[key] = yaml.safe_load(value)
    return name, options


def metrics_with_options(names: Iterable[str], words: Iterable[str]) -> list[str]:
    """Metrics by name, with the options that words such as ``mig.bins=30`` give them; what is not named is added.

    Example:
        >>> metrics_with_options(["mig", "sap"], ["mig.bins=30", "dci.mode=paper"])
        ['mig bins=30', 'sap', 'dci mode=paper']
    """
    chosen = {plain(name): name for name in names}
    for word in words:
        key, equals, value = word.partition("=")
        name, dot, option = key.rpartition(".")
        if not (equals and dot and option):
            raise UnweaveError(f"an option of a metric is metric.option=value, got {word!r}")
        chosen[plain(name)] = f"{chosen.get(plain(name), name)} {shlex.quote(f'{option}={value}')}"
    return list(chosen.values())


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
        interval: whether to compute intervals, which takes longer; functions that have such a parameter are told, of
            others the interval is left out.
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
            found = metric.named(metric.compute(encoded, stream, interval=interval))
        else:
            found = metric.named(metric.compute(encoded, stream))
        return found if interval else {name: score.without_interval() for name, score in found.items()}

    if threads == 1:
        parts = {metric.name + metric.suffix: measure(metric) for metric in chosen}
    else:
        with ThreadPoolExecutor(threads) as pool:
            order = sorted(chosen, key=lambda metric: metric.name not in _SLOW)
            waiting = {metric.name + metric.suffix: pool.submit(measure, metric) for metric in order}
            parts = {name: future.result() for name, future in waiting.items()}
    return {score: value for metric in chosen for score, value in parts[metric.name + metric.suffix].items()}


def sensitivity_of(
    asked: str, encoded: Encoded, *, seeds: int = 10, tell: Callable[[str], None] = lambda _: None
) -> Sensitivity:
    """A metric for every combination of the values that are listed for its options.

    Args:
        asked: name and options, each with a list of values: ``"mig bins=[10,20]"``.
        encoded: the arrays.
        seeds: of each combination.
        tell: called with a line of text for each of them.

    Reference: FAC appendix B, figures 16 and 17.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
        >>> sensitivity_of("mig bins=[6,36]", Encoded.of(v * 1.0, v), seeds=2).means.tolist()
        [1.0, 1.0]
    """
    name, options = split_options(asked)
    metric = resolve_metric(name)
    grid = {key: values if isinstance(values, list) else [values] for key, values in options.items()}
    shape = tuple(map(len, grid.values()))
    found = np.empty((*shape, check_count("seeds", seeds, 2)))
    for place, values in zip(np.ndindex(shape), itertools.product(*grid.values()), strict=True):
        tell(f"{name} {dict(zip(grid, values, strict=True))}")
        (chosen,) = _computable(
            [metric.with_options(dict(zip(grid, values, strict=True)))], encoded, explicit=True
        )
        for seed in range(seeds):
            answer = chosen.named(chosen.compute(encoded, np.random.default_rng(seed)))
            found[(*place, seed)] = next(iter(answer.values())).value
    return Sensitivity(metric.name, grid, seeds, found.mean(axis=-1), found.std(axis=-1, ddof=1))


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
    name, space, options = score.partition(" ")
    metric = metric_of(name)
    return (name.replace("_", " ") if metric is None else metric.labels[name]) + space + options


def sentence_of(score: str) -> str:
    """What a score says in one sentence; empty if no metric that is known here gives it.

    Example:
        >>> sentence_of("irs")
        '1 if each latent stays constant while its factor does.'
    """
    metric = metric_of(score.partition(" ")[0])
    return "" if metric is None else metric.sentence


def _standard() -> list[AnyMetric]:
    return [metric for metric in METRICS.values() if metric.standard]


def _same(one: AnyMetric, other: AnyMetric) -> bool:
    """Whether two metrics compute the same: one object, two instances of a class, or one function twice."""
    if isinstance(one, FunctionMetric) and isinstance(other, FunctionMetric):
        return one.function is other.function and one.chosen == other.chosen
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
