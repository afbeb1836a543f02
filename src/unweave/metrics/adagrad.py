"""A linear classifier trained by Adagrad, as the metric of Higgins et al. prescribes."""

from dataclasses import dataclass

import numpy as np

from unweave.metrics.validation import Floats, Integers


@dataclass
class AdagradSoftmax:
    """Softmax regression that starts at zero and takes one step of Adagrad for each batch.

    Args:
        weights: (features + 1, classes), the last row the bias.
        squares: sums of squared gradients; TensorFlow's Adagrad starts them at 0.1.
        rate: learning rate.

    Reference: FAC appendix B: Adagrad, learning rate 0.01, batches of 10.

    Example:
        >>> model = AdagradSoftmax.start(features=1, classes=2)
        >>> x, y = np.array([[-1.0], [1.0]] * 500), np.array([0, 1] * 500)
        >>> model.train(x, y, batch=10)
        >>> model.predict(np.array([[-2.0], [3.0]])).tolist()
        [0, 1]
    """

    weights: Floats
    squares: Floats
    rate: float = 0.01

    @classmethod
    def start(cls, features: int, classes: int, rate: float = 0.01) -> "AdagradSoftmax":
        """All weights zero."""
        weights = np.zeros((features + 1, classes))
        return cls(weights, np.full_like(weights, 0.1), rate)

    def train(self, features: Floats, answers: Integers, batch: int) -> None:
        """One pass over points (n, features), a step for each ``batch`` of them."""
        inputs = np.concatenate([features, np.ones((len(features), 1))], axis=1)
        wanted = np.eye(self.weights.shape[1])[answers]
        for start in range(0, len(inputs), batch):
            x, y = inputs[start : start + batch], wanted[start : start + batch]
            logits = x @ self.weights
            logits -= logits.max(axis=1, keepdims=True)
            chances = np.exp(logits)
            chances /= chances.sum(axis=1, keepdims=True)
            gradient = x.T @ (chances - y) / len(x)
            self.squares += gradient * gradient
            self.weights -= self.rate * gradient / np.sqrt(self.squares)

    def predict(self, features: Floats) -> Integers:
        """The most probable class of points (n, features)."""
        best: Integers = np.argmax(features @ self.weights[:-1] + self.weights[-1], axis=1)
        return best
