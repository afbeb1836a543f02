"""Weights of an objective that change over training."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, final, get_type_hints

from torch import Tensor

from unweave.errors import UnweaveError, check_at_least, unknown
from unweave.objectives.core import Loss, Objective, Progress, Wrapper
from unweave.slots import convert, options_of, type_hints
from unweave.vae import VAE


@final
@dataclass(frozen=True)
class Ramp:
    """The path of a weight from ``start`` to the value that the objective has.

    The weight is ``start`` until the fraction ``after`` of all steps, and the objective's own from the fraction
    ``until`` on. Between, it is a straight line, or one of its logarithm ("geometric").

    Args:
        start: the first value.
        after: fraction of all steps before which the weight stays at ``start``.
        until: fraction of all steps from which on it has its own value.
        shape: "linear" or "geometric", for which both ends must be greater than 0.

    Example:
        >>> ramp = Ramp(40.0, until=0.5, shape="geometric")
        >>> [round(ramp.at(fraction, end=10.0), 6) for fraction in (0.0, 0.25, 0.5, 1.0)]
        [40.0, 20.0, 10.0, 10.0]
    """

    start: float
    after: float = 0.0
    until: float = 1.0
    shape: Literal["linear", "geometric"] = "linear"

    @classmethod
    def of(cls, key: str, value: object) -> "Ramp":
        """From what a config holds: a mapping of the options, or ``start`` alone.

        Example:
            >>> Ramp.of("ramps.beta", {"start": 40, "until": 0.7})
            Ramp(start=40.0, after=0.0, until=0.7, shape='linear')
            >>> Ramp.of("ramps.beta", {"until": 0.7})
            Traceback (most recent call last):
            ...
            unweave.errors.UnweaveError: ramps.beta needs the option ramps.beta.start
        """
        given = value if isinstance(value, Mapping) else {"start": value}
        hints = get_type_hints(cls)
        for name in given:
            if name not in hints:
                raise unknown(f"option of {key}", str(name), hints)
        if "start" not in given:
            raise UnweaveError(f"{key} needs the option {key}.start")
        ramp = cls(**{name: convert(f"{key}.{name}", given[name], hints[name]) for name in given})
        check_at_least(f"{key}.start", ramp.start, 0)
        if not 0 <= ramp.after <= ramp.until <= 1:
            raise UnweaveError(
                f"{key}.after and {key}.until must be fractions of all steps in this order, "
                f"got {ramp.after:g} and {ramp.until:g}"
            )
        return ramp

    def at(self, fraction: float, end: float) -> float:
        """The weight at a fraction of all steps, for a ramp that ends at ``end``."""
        if fraction >= self.until:
            return end
        share = max(0.0, fraction - self.after) / (self.until - self.after) if fraction > self.after else 0.0
        if self.shape == "geometric":
            return float(self.start * (end / self.start) ** share)
        return self.start + (end - self.start) * share


def read_ramps(value: object) -> dict[str, dict[str, Any]] | None:
    """The ramps of a config, complete with defaults, as plain values.

    Example:
        >>> read_ramps({"beta": 40})
        {'beta': {'start': 40.0, 'after': 0.0, 'until': 1.0, 'shape': 'linear'}}
    """
    if value is None or str(value).lower() == "none" or value == {}:
        return None
    if not isinstance(value, Mapping):
        raise UnweaveError(f"ramps must name weights, such as ramps.beta.start=40, got {value!r}")
    return {str(name): dict(vars(Ramp.of(f"ramps.{name}", ramp))) for name, ramp in value.items()}


@final
class Ramped(Wrapper):
    """Any objective with some of its weights on the way from another value.

    The weights depend on the step alone, so that a run resumes exactly; they are logged under their names.

    Args:
        objective: any objective, annealed or averaged ones too; the weights are those of the innermost one.
        ramps: by the name of the weight.

    Reference: ours; Burgess et al. 2018 let the target of the KL grow instead (:class:`unweave.objectives.Annealed`).

    Example:
        >>> import torch
        >>> from unweave.objectives import BetaVAE
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> falling = Ramped(BetaVAE(beta=1.0), {"beta": Ramp(9.0, until=0.5)})
        >>> loss = falling(vae, torch.rand(2, 1, 32, 32), Progress(25, 100))
        >>> bool(torch.isclose(loss.total, loss.reconstruction + 5 * loss.terms["kl"]))
        True
    """

    def __init__(self, objective: Objective, ramps: Mapping[str, Ramp]) -> None:
        super().__init__(objective)
        while isinstance(objective, Wrapper):
            objective = objective.objective
        self._of = [objective]  # in a list: it is registered once, inside the wrapped objective
        self.ramps = dict(ramps)
        known = ramped_weights(objective)
        for name, ramp in self.ramps.items():
            if name not in known:
                raise unknown(f"weight of {objective.name} in ramps", name, known)
            if ramp.shape == "geometric" and min(ramp.start, known[name]) <= 0:
                raise UnweaveError(
                    f"ramps.{name} with shape geometric needs both ends greater than 0, got {ramp.start:g} and "
                    f"{known[name]:g}: set ramps.{name}.shape=linear"
                )
        self.ends = {name: known[name] for name in self.ramps}

    def _set(self, weights: Mapping[str, float]) -> None:
        for name, value in weights.items():
            setattr(self._of[0], name, value)

    def weights(self, progress: Progress) -> dict[str, float]:
        """The ramped weights at a step.

        Example:
            >>> from unweave.objectives import BetaVAE
            >>> Ramped(BetaVAE(beta=1.0), {"beta": Ramp(9.0)}).weights(Progress(50, 100))
            {'beta': 5.0}
        """
        return {name: ramp.at(progress.fraction, self.ends[name]) for name, ramp in self.ramps.items()}

    def check(self, vae: VAE) -> None:
        """That of the inner objective, with the weights of both ends."""
        self._set({name: ramp.start for name, ramp in self.ramps.items()})
        try:
            super().check(vae)
        finally:
            self._set(self.ends)
        super().check(vae)

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The loss with the weights of this step."""
        weights = self.weights(progress)
        self._set(weights)
        loss: Loss = self.objective(vae, images, progress)
        return replace(
            loss,
            terms={**loss.terms, **{name: loss.total.new_tensor(value) for name, value in weights.items()}},
        )


def ramped_weights(objective: Objective) -> dict[str, float]:
    """The weights of an objective that can be ramped, with their values: its options that are plain numbers.

    Options of a critic are none, and a capacity has its own way of growing.

    Example:
        >>> from unweave.objectives import DIPVAE
        >>> ramped_weights(DIPVAE())
        {'lambda_od': 10.0, 'lambda_d': 100.0}
    """
    hints = type_hints(type(objective))
    return {
        name: getattr(objective, name)
        for name in options_of(type(objective))
        if hints.get(name) is float
        and name != "capacity"
        and not name.startswith("critic_")
        and hasattr(objective, name)
    }
