"""The hyper-parameters of ISA tables 1 and 2 beside those that the recipes plan, and the layers of A.4."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from unweave.networks import Discriminator
from unweave.recipes.architecture import Column, layers_of
from unweave.recipes.beta_grid import FACTOR_VAE, Model
from unweave.recipes.isa.models import DISCRIMINATOR
from unweave.runs.config import Config
from unweave.vae import VAE


def planned(base: Mapping[str, Any], models: Sequence[Model], images: int) -> dict[str, str]:
    """The settings of a table as a plan holds them.

    Args:
        base: what all runs have in common.
        models: all models.
        images: of the data set.

    Example:
        >>> planned({"data": "DSprites", "steps": 7200, "batch_size": 2048}, [Model("β-VAE", 1.0)], 737_280)["Epochs"]
        '20'
    """
    config = Config.of(dict(base))
    betas, gammas = (
        sorted({model.beta for model in models if (model.method == FACTOR_VAE) is factor})
        for factor in (False, True)
    )
    return {
        "β": listed(betas),
        "γ (FactorVAE)": listed(gammas),
        "Epochs": f"{config.steps / (images // config.batch_size):g}",
        "Learning Rate": f"{config.learning_rate:g}",
        "Batch Size": str(config.batch_size),
        "Latent dimension": str(config.latents),
        "Loss function": config.likelihood.name,
        "Optimizer": config.optimizer.name,
    }


def listed(numbers: Sequence[float]) -> str:
    """Numbers as a table prints them.

    Example:
        >>> listed([1.0, 1.5])
        '1, 1.5'
    """
    return ", ".join(f"{number:g}" for number in numbers)


def settings_rows(published: Mapping[str, str], ours: Mapping[str, str]) -> list[list[str]]:
    """Parameter, published value, planned value, and whether they are the same, a row for each published parameter.

    Example:
        >>> settings_rows({"Epochs": "20"}, {"Epochs": "20"})
        [['Epochs', '20', '20', 'same']]
    """
    return [
        [name, value, ours[name], "same" if ours[name] == value else "differs"]
        for name, value in published.items()
    ]


def layer_columns(base: Mapping[str, Any]) -> list[Column]:
    """The layers of A.4 beside those of the model that a plan builds, and those of the discriminator.

    Example:
        >>> [column.name for column in layer_columns({"data": "DSprites"})]
        ['encoder', 'decoder', 'discriminator']
    """
    vae = Config.of(dict(base)).make_model((1, 64, 64))
    assert isinstance(vae, VAE)
    latents = vae.latents
    critic = Discriminator(
        latents, layers=DISCRIMINATOR["critic_layers"], width=DISCRIMINATOR["critic_width"]
    )
    images, codes = torch.zeros(2, 1, 64, 64), torch.zeros(2, latents)
    return [
        Column(
            "encoder",
            [*["linear 1200", "relu"] * 2, f"linear {2 * latents}"],
            lambda: layers_of(vae.encoder, inputs=images),
        ),
        Column(
            "decoder",
            [*["linear 1200", "tanh"] * 3, "linear 4096"],
            lambda: layers_of(vae.decoder, inputs=codes),
        ),
        Column(
            "discriminator",
            [*["linear 1000", "leaky relu 0.2"] * 5, "linear 2"],
            lambda: layers_of(critic, inputs=codes, slopes=True),
        ),
    ]
