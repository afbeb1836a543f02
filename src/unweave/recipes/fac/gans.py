"""The GANs that FAC trains: InfoWGAN-GP on 2D Shapes (tables 5 and 6), InfoGAN and InfoWGAN-GP on MNIST (table 4).

The paper gives no number of steps for them: 300,000 and 100,000 are ours.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from unweave.recipes.fac.curves import late_mean
from unweave.recipes.fac.methods import stages_of
from unweave.recipes.fac.models import base_2d, factor_vaes
from unweave.recipes.fac.scores import higgins_of
from unweave.recipes.recipe import Job, Plan, Scale, at, data_or_stand_in
from unweave.runs.run import Run


def gan_2d(
    scale: Scale,
    lambda_mi: float,
    *,
    bigger: bool = False,
    name: str = "InfoWGANGP",
    rate: float = 1e-3,
    **changed: Any,
) -> dict[str, Any]:
    """InfoWGAN-GP on 2D Shapes: FAC table 5, or the bigger one of table 6.

    Args:
        scale: of the recipe.
        lambda_mi: weight of the information term.
        bigger: table 6.
        name: of the model.
        rate: learning rate of the generator.
        changed: other options of the model.
    """
    small = at(scale, smoke=[4, 4, 4, 4], small=[16, 16, 32, 32], paper=[32, 32, 64, 64])
    large = at(scale, smoke=[4, 4, 4, 4], small=[32, 64, 64, 64, 64], paper=[64, 128, 256, 256, 256])
    model = {
        "name": name,
        "continuous": 4,
        "categorical": [3],
        "noise": 128 if bigger and scale != "smoke" else 5,
        "channels": large if bigger else small,
        "hidden": at(scale, smoke=16, small=64, paper=1024 if bigger else 128),
        "slope": 0.2,
        "lambda_mi": lambda_mi,
        "norm_place": "after",  # as tables 4 to 6 print it
    }
    if bigger and scale != "smoke":
        model["halvings"] = [2, 2, 2, 1, 1]
    return {
        "data": {"name": "DSprites"},
        "model": {**model, **changed},
        "steps": at(scale, smoke=2, small=1500, paper=300_000),
        "batch_size": at(scale, smoke=8, small=32, paper=64),
        "learning_rate": rate,
    }


def tuned_settings(scale: Scale, *, bigger: bool) -> list[tuple[str, float, dict[str, Any]]]:
    """What FAC section 6 tunes besides lambda: a label, the generator's rate, options of the model.

    In table 6 the noise has a size of its own.

    Example:
        >>> len(tuned_settings("paper", bigger=False)), len(tuned_settings("paper", bigger=True))
        (24, 4)
    """
    if scale != "paper":
        return [("", 1e-3, {})]
    noises: tuple[int, ...] = (128,) if bigger else (5, 10, 20, 40, 80, 160)
    return [
        (
            f", noise {noise}, rates {rate:g} and {other:g}",
            rate,
            {"noise": noise, "critic_learning_rate": other},
        )
        for noise in noises
        for rate in (1e-3, 1e-4)
        for other in (1e-4, 1e-5)
    ]


FIVE_CODES, STOPPED = "5 codes, no category", "InfoGAN, stopped early"
"""What FAC section 6 tries besides, on 2D Shapes."""


def gans_2d(*, bigger: bool = False) -> Plan:
    """InfoWGAN-GP for a range of weights of the information term and of what is tuned with it, beside FactorVAE.

    The paper does not say when it stopped InfoGAN: here after a thirtieth of the steps.
    """

    def plan(scale: Scale) -> dict[str, Any]:
        weights = at(scale, smoke=(0.2,), small=(0.2, 0.6), paper=tuple(round(0.1 * k, 1) for k in range(11)))
        variants = {}
        if not bigger:
            early = gan_2d(scale, 0.2, name="InfoGAN")
            variants[STOPPED] = {**early, "steps": early["steps"] // at(scale, smoke=1, small=5, paper=30)}
            variants[FIVE_CODES] = gan_2d(scale, 0.2, continuous=5, categorical=[])
        variants |= {
            f"lambda={weight}{label}": gan_2d(scale, weight, bigger=bigger, rate=rate, **options)
            for weight in weights
            for label, rate, options in tuned_settings(scale, bigger=bigger)
        }
        beside = factor_vaes(scale, [at(scale, smoke=40, small=10, paper=40)])
        variants |= {label: {**base_2d(scale), **options} for label, options in beside.items()}
        return {
            "base": {"data": {"name": "DSprites"}},
            "variants": variants,
            "seeds": at(scale, smoke=2, small=3, paper=10),
            "metrics": [higgins_of(scale)],
        }

    return plan


def digits() -> dict[str, Any]:
    """MNIST, or letters in its place."""
    return data_or_stand_in("MNIST", "Glyphs", size=32)[0]


def class_column(run: Run) -> int:
    """Which factor is the class: the digit, or the letter of the stand-in."""
    space = run.dataset().space
    assert space is not None
    return next(k for k, name in enumerate(space.names) if name in ("digit", "letter"))


def gan_on_2d_shapes(scale: Scale) -> dict[str, Any]:
    """The run of figure 33: InfoWGAN-GP on 2D Shapes with lambda = 1, as figure 32 has it on MNIST."""
    return {
        "base": {"data": {"name": "DSprites"}},
        "variants": {"lambda=1": gan_2d(scale, 1.0)},
        "seeds": at(scale, smoke=2, small=3, paper=5),
    }


DEGENERATE = 0.55
"""Accuracy of a discriminator at or below which it has degenerated; one half takes everything for real."""


def before_degeneration(job: Job, variant: str) -> list[Run]:
    """For each seed of a variant the longest of its runs whose discriminator had not degenerated.

    If it had in all of them, the shortest. Where the model has no discriminator, the longest.

    Reference: FAC appendix H: results "are from well before the degenerate behaviour occurs".
    """
    stages = stages_of(job, variant)
    found = {run.config.seed: run for run in job.runs(stages[min(stages)])}
    for steps in sorted(stages):
        for run in job.runs(stages[steps]):
            has = any(ACCURACY in line for line in run.history)
            if not has or late_mean(run, ACCURACY) > DEGENERATE:
                found[run.config.seed] = run
    return [found[seed] for seed in sorted(found)]


def stops(chosen: Mapping[str, Sequence[Run]]) -> str:
    """A sentence on where runs were stopped."""
    steps = sorted({run.config.steps for runs in chosen.values() for run in runs})
    return f"Read before the discriminator degenerates, after {' or '.join(f'{n:,}' for n in steps)} steps."


ACCURACY = "discriminator_accuracy"


def gans_on_digits(
    variants: Mapping[str, Mapping[str, Any]], name: str = "InfoGAN", *, stopped: bool = False
) -> Plan:
    """InfoGAN or InfoWGAN-GP on MNIST, FAC table 4: five runs of each variant.

    Args:
        variants: options of the model.
        name: of the model.
        stopped: whether there are also runs that stop earlier, see :func:`before_degeneration`.
    """

    def plan(scale: Scale) -> dict[str, Any]:
        model = {
            "name": name,
            "noise": at(scale, smoke=4, small=62, paper=62),
            "channels": at(scale, smoke=[4, 4], small=[16, 32], paper=[64, 128]),
            "hidden": at(scale, smoke=16, small=128, paper=1024),
            "norm_place": "after",
        }
        base: dict[str, Any] = {
            "data": digits(),
            "model": model,
            "steps": at(scale, smoke=2, small=2000, paper=100_000),
            "batch_size": at(scale, smoke=8, small=64, paper=64),
            "learning_rate": 1e-3,
        }
        whole = {label: {"model": {**model, **options}} for label, options in variants.items()}
        shares: tuple[int, ...] = at(scale, smoke=(), small=(4, 2), paper=(50, 20, 10, 5, 2))
        early = {
            f"{label} at {base['steps'] // share}": {**options, "steps": base["steps"] // share}
            for share in shares
            for label, options in whole.items()
        }
        return {
            "base": base,
            "variants": {**whole, **early} if stopped else whole,
            "seeds": at(scale, smoke=2, small=5, paper=5),
        }

    return plan


AS_PUBLISHED: dict[str, Any] = {"continuous": 2, "categorical": [10]}
"""Codes of the InfoGAN of table 4."""

TEN_CATEGORIES = {"2 codes, 10 categories": AS_PUBLISHED}
THREE_CODES = {**TEN_CATEGORIES, "3 codes, 10 categories": {"continuous": 3, "categorical": [10]}}
TWO_CATEGORIES = {**TEN_CATEGORIES, "2 codes, 2 categories": {"continuous": 2, "categorical": [2]}}
TWENTY_CATEGORIES = {**TEN_CATEGORIES, "2 codes, 20 categories": {"continuous": 2, "categorical": [20]}}
