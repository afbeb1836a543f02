"""Every key of a config enters its identity, and no two different values of one key share an identity."""

import dataclasses
from typing import Any

import pytest

from unweave.runs import Config

CHANGED: dict[str, Any] = {
    "data": {"name": "Circles", "variant": "xh"},
    "model": "InfoGAN",
    "encoder": "MLP",
    "decoder": "SpatialBroadcast",
    "posterior": None,
    "prior": "StudentT",
    "likelihood": "MSE",
    "objective": {"name": "BetaVAE", "beta": 2.0},
    "pairing": "AdaGVAE",
    "sampling": {"name": "Correlated"},
    "optimizer": "Muon",
    "critic_optimizer": {"name": "Adam", "amsgrad": True},
    "schedule": "Cosine",
    "critic_schedule": "Linear",
    "ramps": {"beta": {"start": 4.0, "until": 0.5}},
    "weight_average": 0.99,
    "clip_norm": 1.0,
    "standardise": True,
    "averaged": True,
    "capacity": 5.0,
    "capacity_steps": 70,
    "latents": 11,
    "steps": 5001,
    "batch_size": 65,
    "learning_rate": 2e-4,
    "seed": 1,
}
NAMES = [field.name for field in dataclasses.fields(Config)]


def test_no_key_is_forgotten() -> None:
    assert set(NAMES) <= set(CHANGED)


def other_value(name: str) -> Any:
    """Another choice of a slot whose parts have no other name here: any option of its part, changed."""
    from unweave.posteriors import POSTERIORS

    others = [part for part in POSTERIORS if part != Config.of({"data": "circles"}).posterior.name]
    return others[0] if others else None


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_key_is_another_identity(name: str) -> None:
    base: dict[str, Any] = {"data": "circles"}
    value = CHANGED[name]
    if name == "posterior" and value is None:
        value = other_value(name)
    if name == "sampling":
        from unweave.data import SAMPLINGS

        value = next(part for part in SAMPLINGS if part != "Uniform")
        base = {"data": "xysquares"}
    if value is None:
        pytest.skip(f"there is only one {name}")
    assert Config.of({**base, name: value}).identity != Config.of(base).identity


def test_capacity_steps_count_with_a_capacity_too() -> None:
    base = {"data": "circles", "capacity": 5.0}
    found = {Config.of({**base, "capacity_steps": steps}).identity for steps in (None, 0, 70, 71)}
    assert len(found) == 4


def test_the_identity_does_not_depend_on_the_order_of_keys() -> None:
    one = Config.of({"data": "circles", "seed": 3, "latents": 4})
    two = Config.of({"latents": 4, "seed": 3, "data": "circles"})
    assert one.identity == two.identity


def test_defaults_are_those_of_the_papers_tables() -> None:
    config = Config.of({"data": "circles"})
    assert (config.latents, config.steps, config.batch_size, config.learning_rate) == (10, 5000, 64, 1e-4)
    assert (config.capacity, config.capacity_steps, config.standardise, config.averaged) == (
        None,
        None,
        False,
        False,
    )


@pytest.mark.parametrize("name", ["latents", "steps", "batch_size"])
def test_the_least_value_of_a_count_is_one(name: str) -> None:
    from unweave.errors import UnweaveError

    assert getattr(Config.of({"data": "circles", name: 1}), name) == 1
    with pytest.raises(UnweaveError, match=f"{name} must be at least 1, got 0"):
        Config.of({"data": "circles", name: 0})
