"""What FAC trains on 2D Shapes (dSprites) and 3D Shapes: networks of tables 1 and 2, protocol of appendix A.

The values of beta and gamma are those that the paper's text names.
"""

from collections.abc import Callable, Iterable
from typing import Any

from unweave.recipes.fac.scores import higgins_of
from unweave.recipes.recipe import Plan, Scale, at, data_or_stand_in

Variants = dict[str, dict[str, Any]]
"""What each variant of a study sets."""

SEEDS_SEEN = "Five seeds were planned; three of them had been looked at before the other two were trained."
"""Noted beside the small results on 2D Shapes that this concerns."""


def networks(scale: Scale, hidden: int) -> dict[str, Any]:
    """Encoder and decoder of FAC tables 1 to 3; narrower below the paper's scale."""
    channels = at(scale, smoke=[4, 4, 4, 4], small=[8, 8, 16, 32], paper=[32, 32, 64, 64])
    units = at(scale, smoke=16, small=hidden // 2, paper=hidden)
    return {
        "encoder": {"name": "Conv", "channels": channels, "hidden": [units]},
        "decoder": {"name": "Deconv", "channels": channels[::-1], "hidden": [units]},
    }


def protocol(scale: Scale, *, latents: int, small_steps: int, steps: int) -> dict[str, Any]:
    """Latents, steps, batches and learning rate (FAC appendix A).

    Args:
        scale: of the recipe.
        latents: of the paper and of the small scale.
        small_steps: at the small scale.
        steps: of the paper.
    """
    return {
        "latents": at(scale, smoke=4, small=latents, paper=latents),
        "steps": at(scale, smoke=2, small=small_steps, paper=steps),
        "batch_size": at(scale, smoke=8, small=32, paper=64),
        "learning_rate": at(scale, smoke=1e-4, small=5e-4, paper=1e-4),
    }


def critic(scale: Scale, rate: float = 1e-4) -> dict[str, Any]:
    """Options of the discriminator: six layers of 1000 units in the paper."""
    return {
        "critic_layers": at(scale, smoke=1, small=3, paper=6),
        "critic_width": at(scale, smoke=8, small=200, paper=1000),
        "critic_learning_rate": at(scale, smoke=rate, small=1e-3, paper=rate),
    }


def beta_vaes(betas: Iterable[int]) -> Variants:
    """A beta-VAE for each beta."""
    return {f"beta={beta}": {"objective": {"name": "BetaVAE", "beta": beta}} for beta in betas}


def factor_vaes(scale: Scale, gammas: Iterable[int], rate: float = 1e-4) -> Variants:
    """A FactorVAE for each gamma; ``rate`` is the learning rate of the discriminator."""
    return {
        f"gamma={gamma}": {"objective": {"name": "FactorVAE", "gamma": gamma, **critic(scale, rate)}}
        for gamma in gammas
    }


def base_2d(scale: Scale) -> dict[str, Any]:
    """2D Shapes, FAC table 1 and appendix A."""
    return {
        "data": {"name": "DSprites"},
        **networks(scale, 128),
        **protocol(scale, latents=10, small_steps=6000, steps=300_000),
    }


def betas_2d(scale: Scale) -> tuple[int, ...]:
    """Values of beta on 2D Shapes."""
    betas: tuple[int, ...] = at(scale, smoke=(1, 4), small=(1, 4), paper=(1, 4, 16, 64))
    return betas


def gammas_2d(scale: Scale) -> tuple[int, ...]:
    """Values of gamma on 2D Shapes; above ten, training with a small batch and discriminator is unstable."""
    gammas: tuple[int, ...] = at(scale, smoke=(10, 40), small=(2, 10), paper=(10, 20, 35, 40, 80))
    return gammas


def factor_vaes_2d(scale: Scale) -> Variants:
    """The FactorVAEs on 2D Shapes."""
    return factor_vaes(scale, gammas_2d(scale))


def vaes_2d(scale: Scale) -> Variants:
    """The beta-VAEs and FactorVAEs on 2D Shapes."""
    return {**beta_vaes(betas_2d(scale)), **factor_vaes_2d(scale)}


def study_2d(scale: Scale, variants: Variants) -> dict[str, Any]:
    """Variants on 2D Shapes, ten seeds each in the paper."""
    return {
        "base": base_2d(scale),
        "variants": variants,
        "seeds": at(scale, smoke=2, small=5, paper=10),
        "metrics": [higgins_of(scale)],
    }


def shapes_2d(scale: Scale) -> dict[str, Any]:
    """Beta-VAE and FactorVAE on 2D Shapes."""
    return study_2d(scale, vaes_2d(scale))


def stages_2d(variants: Callable[[Scale], Variants]) -> Plan:
    """Variants on 2D Shapes, and the same runs stopped earlier.

    Step t of a run depends on its seed and t alone, so that a run of fewer steps is the beginning of the longer one.
    """

    def plan(scale: Scale) -> dict[str, Any]:
        whole = variants(scale)
        stopped = {
            f"{label} at {steps}": {**options, "steps": steps}
            for steps in earlier(scale)
            for label, options in whole.items()
        }
        return study_2d(scale, {**whole, **stopped})

    return plan


def earlier(scale: Scale) -> tuple[int, ...]:
    """After how many steps, before the last, the runs on 2D Shapes are evaluated."""
    last: int = base_2d(scale)["steps"]
    return tuple(last // share for share in at(scale, smoke=(), small=(), paper=(30, 10, 5, 2)))


def shapes_3d(scale: Scale) -> dict[str, Any]:
    """Beta-VAE and FactorVAE on 3D Shapes, FAC table 2 and appendix A.

    Appendix A gives 500,000 steps, section 6 a million. The appendix is followed, being the list of settings;
    ``steps=1000000`` is the other reading.
    """
    betas = at(scale, smoke=(32,), small=(1, 32), paper=(1, 24, 32))
    gammas = at(scale, smoke=(7,), small=(7, 36), paper=(6, 7, 36))
    return {
        "base": {
            "data": data_or_stand_in("Shapes3D")[0],
            **networks(scale, 256),
            **protocol(scale, latents=6, small_steps=4000, steps=500_000),
        },
        "variants": {**beta_vaes(betas), **factor_vaes(scale, gammas, 1e-5)},
        "seeds": at(scale, smoke=2, small=4, paper=10),
    }
