"""What a metric that needs a model is."""

import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unweave.data import Dataset
from unweave.errors import UnweaveError
from unweave.metrics import AnyMetric, Score, resolve_metric
from unweave.model_metrics.codes import Codes
from unweave.references import entry_points_of, load_entry_point
from unweave.vae import Model

logger = logging.getLogger("unweave")

GROUP = "unweave.model_metrics"
"""Entry points under which installed packages register metrics that need a model."""


@dataclass(frozen=True)
class Evaluated:
    """What a metric of a model may use.

    Attributes:
        model: in evaluation mode, on its device.
        dataset: what it was trained on.
        codes: the sample of the data set that was encoded for all scores.
        tell: may be called with a line of text that says what is being done.

    Example:
        >>> sorted(Evaluated.__annotations__)
        ['codes', 'dataset', 'model', 'tell']
    """

    model: Model
    dataset: Dataset
    codes: Codes
    tell: Callable[[str], None] = lambda _: None


class ModelMetric(AnyMetric):
    """A metric that needs the model itself. Three things must be provided, the rest has defaults.

    * ``name``: of the metric, and (without ``labels``) of its score;
    * ``labels``: score -> label, if the metric gives several scores;
    * :meth:`compute`: the score, or several by name.

    Pass an instance, the class, ``"package.module:Class"`` or ``"path/to/file.py:Class"`` wherever the metrics of a run
    are named.

    Example:
        >>> class Spread(ModelMetric):
        ...     name = "spread"
        ...     def compute(self, evaluated, rng):
        ...         images = evaluated.dataset.sample(10, rng).images
        ...         return Score(self.name, float(evaluated.model.reconstruct(images).std()), range=(0.0, None))
        >>> Spread().labels
        {'spread': 'spread'}
    """

    @abstractmethod
    def compute(self, evaluated: Evaluated, rng: np.random.Generator) -> Score | dict[str, Score]:
        """The score of a model; an empty dictionary if the data or the model lack what it needs.

        ``rng`` is the source of all draws with numpy. The caller also seeds torch's generators.
        """


def installed_model_metrics() -> dict[str, AnyMetric]:
    """The metrics that installed packages register; one that cannot be loaded is omitted with a warning.

    Example:
        >>> installed_model_metrics()
        {}
    """
    found: dict[str, AnyMetric] = {}
    for name, point in entry_points_of(GROUP).items():
        try:
            found[name] = resolve_metric(load_entry_point(point))  # type: ignore[arg-type]  # it checks the kind
        except UnweaveError as error:
            logger.warning("%s", error)
    return found
