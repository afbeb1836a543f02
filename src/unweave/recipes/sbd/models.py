"""What SBD trains: networks of table 1 (table 2 for FactorVAE), data of appendix A.3, steps of table 4.

The ``small`` scale has narrower networks, fewer steps and replicas, and circles of 32 x 32 pixels.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unweave.recipes.recipe import Plan, Scale, at

DECONV, BROADCAST, COORDCONV = "DeConv", "Spatial Broadcast", "CoordConv"
"""The paper's names of the decoders, which name the variants."""

GAUSSIAN = f"{DECONV} FactorVAE, Gaussian"
"""The model of figure 11's caption: a normal distribution of fixed variance; SBD recommends 0.3."""

STEPS = {"sprites": 1_500_000, "chairs": 700_000, "rooms": 2_500_000, "circles": 500_000}
"""Training steps of the VAEs, SBD table 4."""

FACTOR_STEPS = {"sprites": 1_000_000, "circles": 500_000}
"""Training steps of the FactorVAEs, SBD table 4."""

SMALL_SPRITES, SMALL_CIRCLES = 1000, 1500
"""Steps at the ``small`` scale."""

WIDTH = {"smoke": 4, "small": 16, "paper": 64}
"""Channels; with a quarter of them a Spatial Broadcast decoder takes about a tenth of the time."""

RATE = {"smoke": 1e-3, "small": 1e-3, "paper": 3e-4}
"""Adam's step size: a few thousand steps have to do what the paper's million does."""

SPRITES = {"name": "ColoredSprites"}

FRESH = range(5, 20)
"""Seeds of the small figures 3 (the first ten) and 5."""

PILOT = (
    "A pilot (seeds 0 to 4 for figure 5, 0 to 2 for figure 3) had MIG in the claimed order with p = 0.11 and 0.07. "
    "From its spread the number of replicas was settled before any of these was trained; these are other seeds."
)


def deconv(scale: Scale, *, layers: int = 5, linear: int = 1) -> dict[str, Any]:
    """The up-convolutional decoder of SBD table 1, with other numbers of layers for tables 6 and 8.

    Example:
        >>> deconv("paper")["channels"], deconv("paper", linear=3)["hidden"]
        ([64, 64, 64, 64, 64], [256, 256])
    """
    width = WIDTH[scale]
    return {
        "name": "Deconv",
        "channels": [width] * layers,
        "hidden": [4 * width] * (linear - 1),
        "initialisation": "truncated_normal",
    }


def factor_deconv(scale: Scale) -> dict[str, Any]:
    """The up-convolutional decoder of SBD table 2.

    Example:
        >>> factor_deconv("paper")["channels"]
        [64, 64, 64, 32, 32]
    """
    width = WIDTH[scale]
    return {**deconv(scale), "channels": [width] * 3 + [max(4, width // 2)] * 2}


def broadcast(scale: Scale, *, linear: int = 0, **options: Any) -> dict[str, Any]:
    """The Spatial Broadcast decoder of SBD table 1; ``linear`` layers before the broadcast for tables 7 and 9.

    Example:
        >>> broadcast("paper", depth=5)
        {'name': 'SpatialBroadcast', 'width': 64, 'mlp': [], 'depth': 5}
    """
    width = WIDTH[scale]
    return {"name": "SpatialBroadcast", "width": width, "mlp": [4 * width] * linear, **options}


def both_decoders(scale: Scale) -> dict[str, Any]:
    """The two decoders that SBD compares, as variants.

    Example:
        >>> list(both_decoders("paper"))
        ['DeConv', 'Spatial Broadcast']
    """
    return {DECONV: {"decoder": deconv(scale)}, BROADCAST: {"decoder": broadcast(scale)}}


def vae(scale: Scale, data: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """What all VAEs of SBD share: the encoder of table 1, 10 latents, batch 16, Adam at 3e-4.

    Example:
        >>> vae("paper", {"name": "ColoredSprites"}, 5)["encoder"]["channels"]
        [64, 64, 64, 64]
    """
    encoder = {"name": "Conv", "channels": [WIDTH[scale]] * 4, "initialisation": "truncated_normal"}
    if scale == "smoke":
        return {
            "data": data,
            "encoder": {**encoder, "hidden": [8]},
            "latents": 4,
            "batch_size": 4,
            "steps": 2,
        }
    return {
        "data": data,
        "encoder": encoder,
        "latents": 10,
        "batch_size": 16,
        "learning_rate": RATE[scale],
        "steps": steps,
    }


def factor_vae(scale: Scale, steps: int) -> dict[str, Any]:
    """What turns such a VAE into a FactorVAE: SBD appendix A.2 and the encoder of table 2.

    Example:
        >>> factor_vae("paper", 7)["objective"]["critic_learning_rate"]
        2e-05
    """
    objective = {
        "name": "FactorVAE",
        "gamma": 35.0,
        "critic_learning_rate": 2e-5,
        "critic_initialisation": "truncated_normal",  # "in all networks", SBD appendix A
    }
    if scale == "smoke":
        return {"objective": {**objective, "critic_layers": 2, "critic_width": 8}}
    if scale == "small":
        # The discriminator as published would take most of the time of networks this small.
        objective |= {"critic_layers": 4, "critic_width": 256, "critic_learning_rate": 1e-4}
    return {
        "objective": objective,
        "encoder.channels": [WIDTH[scale] // 2] * 2 + [WIDTH[scale]] * 2,
        "batch_size": 32,
        "learning_rate": 1e-4 if scale == "paper" else RATE[scale],
        "steps": steps,
    }


def seeds(scale: Scale, paper: int, small: int | Sequence[int] = 5) -> int | list[int]:
    """Replicas of each variant: how many, or which seeds.

    Example:
        >>> seeds("paper", 25), seeds("smoke", 25), seeds("small", 25, range(5, 8))
        (25, 2, [5, 6, 7])
    """
    chosen: int | list[int] = at(
        scale, smoke=2, small=small if isinstance(small, int) else list(small), paper=paper
    )
    return chosen


def sprites(
    variants: Callable[[Scale], Mapping[str, Any]], *, paper: int = 25, small: int | Sequence[int] = 5
) -> Plan:
    """A plan of VAEs on coloured sprites, one for each of the variants.

    Args:
        variants: of a scale: what each model sets.
        paper: replicas of the paper.
        small: replicas, or seeds, of the small scale.

    Example:
        >>> plan = sprites(both_decoders)
        >>> plan("paper")["base"]["steps"], plan("paper")["seeds"]
        (1500000, 25)
    """

    def plan(scale: Scale) -> dict[str, Any]:
        steps = STEPS["sprites"] if scale == "paper" else SMALL_SPRITES
        return {
            "base": vae(scale, SPRITES, steps),
            "variants": variants(scale),
            "seeds": seeds(scale, paper, small),
            "metrics": mig_metrics(scale),
        }

    return plan


def mig_metrics(scale: Scale) -> list[str]:
    """What runs are scored by besides: MIG by sampling, as Chen et al. define it and SBD uses it, in its protocol.

    Example:
        >>> mig_metrics("paper"), mig_metrics("small")
        (['sampled_mig'], [])
    """
    return at(scale, smoke=[], small=[], paper=["sampled_mig"])


def circles(
    variant: str,
    *,
    hole: str = "none",
    blank: float = 0.0,
    factor: Sequence[Scale] = (),
    gaussian: bool = False,
    paper: int = 15,
) -> Plan:
    """A plan of VAEs, and at the scales of ``factor`` of FactorVAEs too, with either decoder on circles.

    Args:
        variant: which factors vary.
        hole: where the data have none.
        blank: share of black images.
        factor: scales at which there are FactorVAEs too.
        gaussian: whether there is a DeConv FactorVAE with a Gaussian decoder among them (caption of figure 11).
        paper: replicas of the paper.

    Example:
        >>> plan = circles("xy", hole="center", factor=["paper"])
        >>> list(plan("paper")["variants"])
        ['DeConv VAE', 'Spatial Broadcast VAE', 'DeConv FactorVAE', 'Spatial Broadcast FactorVAE']
    """

    def plan(scale: Scale) -> dict[str, Any]:
        size = 64 if scale == "paper" else 32
        # At smoke all pairs of factors are X-Y and all objects small, so that figures share runs.
        shared = ("xy" if len(variant) == 2 else "xyh_small") if scale == "smoke" else variant
        data = {"name": "Circles", "variant": shared, "hole": hole, "blank": blank, "size": size}
        if scale == "paper":
            data["finite"] = 500_000
        steps = STEPS["circles"] if scale == "paper" else SMALL_CIRCLES
        # Table 1 begins at 2 x 2 pixels: one doubling less for images half as large.
        layers = 5 if scale == "paper" else 4
        made = {
            f"{DECONV} VAE": {"decoder": deconv(scale, layers=layers)},
            f"{BROADCAST} VAE": {"decoder": broadcast(scale)},
        }
        if scale in factor:
            made |= _factor_vaes_on_circles(scale, layers, gaussian)
        return {
            "base": vae(scale, data, steps),
            "variants": made,
            "seeds": seeds(scale, paper),
            "metrics": mig_metrics(scale),
        }

    return plan


def _factor_vaes_on_circles(scale: Scale, layers: int, gaussian: bool) -> dict[str, Any]:
    """FactorVAEs with either decoder, and perhaps one with a Gaussian decoder."""
    with_critic = factor_vae(scale, FACTOR_STEPS["circles"] if scale == "paper" else SMALL_CIRCLES)
    decoder = factor_deconv(scale)
    decoder["channels"] = decoder["channels"][-layers:]
    made = {
        f"{DECONV} FactorVAE": {"decoder": decoder, **with_critic},
        f"{BROADCAST} FactorVAE": {"decoder": broadcast(scale), **with_critic},
    }
    if gaussian:
        likelihood = {"name": "Gaussian", "variance": 0.3}
        made[GAUSSIAN] = {"decoder": decoder, **with_critic, "likelihood": likelihood}
    return made
