"""The GANs that FAC trains: InfoWGAN-GP on 2D Shapes (tables 5 and 6), InfoGAN and InfoWGAN-GP on MNIST (table 4).

The paper does not give their number of steps.
"""

from collections.abc import Mapping
from typing import Any

from unweave.recipes.fac.models import base_2d, factor_vaes
from unweave.recipes.fac.scores import HIGGINS
from unweave.recipes.recipe import Plan, Scale, at, data_or_stand_in
from unweave.runs.run import Run


def gan_2d(scale: Scale, lambda_mi: float, *, bigger: bool = False) -> dict[str, Any]:
    """InfoWGAN-GP on 2D Shapes: FAC table 5, or the bigger one of table 6."""
    small = at(scale, smoke=[4, 4, 4, 4], small=[16, 16, 32, 32], paper=[32, 32, 64, 64])
    large = at(scale, smoke=[4, 4, 4, 4], small=[32, 64, 64, 64, 64], paper=[64, 128, 256, 256, 256])
    model = {
        "name": "InfoWGANGP",
        "continuous": 4,
        "categorical": [3],
        "noise": 128 if bigger and scale != "smoke" else 5,
        "channels": large if bigger else small,
        "hidden": at(scale, smoke=16, small=64, paper=1024 if bigger else 128),
        "slope": 0.2,
        "lambda_mi": lambda_mi,
    }
    if bigger and scale != "smoke":
        model["halvings"] = [2, 2, 2, 1, 1]
    return {
        "data": {"name": "DSprites"},
        "model": model,
        "steps": at(scale, smoke=2, small=1500, paper=300_000),
        "batch_size": at(scale, smoke=8, small=32, paper=64),
        "learning_rate": 1e-3,
    }


def gans_2d(*, bigger: bool = False) -> Plan:
    """InfoWGAN-GP for a range of weights of the information term, beside FactorVAE."""

    def plan(scale: Scale) -> dict[str, Any]:
        weights = at(scale, smoke=(0.2,), small=(0.2, 0.6), paper=tuple(round(0.1 * k, 1) for k in range(11)))
        variants = {f"lambda={weight}": gan_2d(scale, weight, bigger=bigger) for weight in weights}
        beside = factor_vaes(scale, [at(scale, smoke=40, small=10, paper=40)])
        variants |= {label: {**base_2d(scale), **options} for label, options in beside.items()}
        return {
            "base": {"data": {"name": "DSprites"}},
            "variants": variants,
            "seeds": at(scale, smoke=2, small=3, paper=10),
            "metrics": [HIGGINS],
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


def gans_on_digits(variants: Mapping[str, Mapping[str, Any]], name: str = "InfoGAN") -> Plan:
    """InfoGAN or InfoWGAN-GP on MNIST, FAC table 4: five runs of each variant.

    Args:
        variants: options of the model.
        name: of the model.
    """

    def plan(scale: Scale) -> dict[str, Any]:
        model = {
            "name": name,
            "noise": at(scale, smoke=4, small=62, paper=62),
            "channels": at(scale, smoke=[4, 4], small=[16, 32], paper=[64, 128]),
            "hidden": at(scale, smoke=16, small=128, paper=1024),
        }
        base = {
            "data": digits(),
            "model": model,
            "steps": at(scale, smoke=2, small=2000, paper=100_000),
            "batch_size": at(scale, smoke=8, small=64, paper=64),
            "learning_rate": 1e-3,
        }
        return {
            "base": base,
            "variants": {label: {"model": {**model, **options}} for label, options in variants.items()},
            "seeds": at(scale, smoke=2, small=5, paper=5),
        }

    return plan


AS_PUBLISHED: dict[str, Any] = {"continuous": 2, "categorical": [10]}
"""Codes of the InfoGAN of table 4."""

TEN_CATEGORIES = {"2 codes, 10 categories": AS_PUBLISHED}
THREE_CODES = {**TEN_CATEGORIES, "3 codes, 10 categories": {"continuous": 3, "categorical": [10]}}
TWO_CATEGORIES = {**TEN_CATEGORIES, "2 codes, 2 categories": {"continuous": 2, "categorical": [2]}}
TWENTY_CATEGORIES = {**TEN_CATEGORIES, "2 codes, 20 categories": {"continuous": 2, "categorical": [20]}}
