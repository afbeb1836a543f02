"""What a metric that needs a model is."""

from abc import abstractmethod

import numpy as np

from unweave.data import Dataset
from unweave.metrics import AnyMetric, Score
from unweave.model_metrics.codes import Codes
from unweave.vae import Model


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
        ...     def compute(self, model, dataset, codes, rng):
        ...         images = dataset.sample(10, rng).images
        ...         return Score(self.name, float(model.reconstruct(images).std()), range=(0.0, None))
        >>> Spread().labels
        {'spread': 'spread'}
    """

    @abstractmethod
    def compute(
        self, model: Model, dataset: Dataset, codes: Codes, rng: np.random.Generator
    ) -> Score | dict[str, Score]:
        """The score of a model; an empty dictionary if the data or the model lack what it needs.

        Args:
            model: in evaluation mode, on its device.
            dataset: what it was trained on.
            codes: the sample of the data set that was encoded for all scores.
            rng: the source of all draws with numpy. The caller also seeds torch's generators.
        """
