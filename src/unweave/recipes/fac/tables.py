"""FAC tables 1 to 6: the networks as published and as they are built."""

from collections.abc import Sequence

import torch

from unweave.gan import GAN
from unweave.recipes.architecture import Column, architecture, layers_of
from unweave.recipes.fac.gans import AS_PUBLISHED, gan_2d, gans_on_digits
from unweave.recipes.fac.models import base_2d, shapes_3d
from unweave.recipes.fac.unlabelled import vaes_on
from unweave.recipes.recipe import recipe
from unweave.runs.config import Config, merge
from unweave.vae import VAE

CONVOLUTIONS = [f"conv 4x4 {c} stride 2" for c in (32, 32, 64, 64)]
"""Of the encoders of tables 1 to 3."""

NO_RELU = "FAC prints no ReLU here; without one the two linear layers would be one, and its decoder has one"
CODES_OF_TABLE_6 = "the codes that the caption names are 4 + 3 + 128 = 135"


def _interleaved(layers: Sequence[str], between: str) -> list[str]:
    return [word for layer in layers for word in (layer, between)]


def _encoder(hidden: int, between: Sequence[str] = ()) -> list[str]:
    return [*_interleaved(CONVOLUTIONS, "relu"), f"linear {hidden}", *between, "linear 20"]


def _decoder(hidden: int, channels: int) -> list[str]:
    upconvolutions = [f"upconv 4x4 {c} stride 2" for c in (64, 32, 32)]
    inner = [f"linear {hidden}", "linear 1024", *upconvolutions]
    return [*_interleaved(inner, "relu"), f"upconv 4x4 {channels} stride 2"]


def vae_columns(config: Config, shape: tuple[int, int, int], hidden: int) -> list[Column]:
    """Encoder, in both readings, and decoder of a config beside those that a table prints, with 10 latents."""
    printed = Config.of(merge(config.to_mapping(), {"encoder": {"hidden_activation": "none"}}))

    def made(chosen: Config) -> VAE:
        model = chosen.make_model(shape)
        assert isinstance(model, VAE)
        return model

    def encoder(chosen: Config) -> list[str]:
        return layers_of(made(chosen).encoder, inputs=torch.zeros(2, *shape))

    def decoder() -> list[str]:
        return layers_of(made(config).decoder, inputs=torch.zeros(2, config.latents))

    relu = len(CONVOLUTIONS) * 2 + 1
    return [
        Column("encoder", _encoder(hidden, [""]), lambda: encoder(config), {relu: NO_RELU}),
        Column("encoder.hidden_activation=none", _encoder(hidden), lambda: encoder(printed)),
        Column("decoder", _decoder(hidden, shape[0]), decoder),
    ]


def table_1() -> list[Column]:
    """2D Shapes."""
    return vae_columns(Config.of({**base_2d("paper")}), (1, 64, 64), 128)


def table_2() -> list[Column]:
    """3D Shapes, CelebA and chairs; the paper has 6 latents on 3D Shapes and prints 2 x 10 outputs for all."""
    return vae_columns(Config.of({**shapes_3d("paper")["base"], "latents": 10}), (3, 64, 64), 256)


def table_3() -> list[Column]:
    """3D Faces."""
    return vae_columns(
        Config.of(dict(vaes_on("Faces3D", 1e-4, channels=1)("paper")["base"])), (1, 64, 64), 256
    )


def gan_columns(
    config: Config,
    shape: tuple[int, int, int],
    critic: Sequence[str],
    code: Sequence[str],
    generator: Sequence[str],
) -> list[Column]:
    """Discriminator, encoder and generator of a GAN beside those that a table prints, in the printed order."""

    def made() -> GAN:
        model = config.make_model(shape)
        assert isinstance(model, GAN)
        return model

    def built_critic() -> list[str]:
        model = made()
        return layers_of(model.critic, lambda: model.critic.scores(torch.zeros(2, *shape)))

    def built_code() -> list[str]:
        model = made()
        return layers_of(model.critic.code, inputs=torch.zeros(2, model.critic.score.in_features))

    def built_generator() -> list[str]:
        model = made()
        return layers_of(model.generator, inputs=torch.zeros(2, model.inputs))

    return [
        Column("discriminator", critic, built_critic),
        Column("encoder Q, from the last shared layer", code, built_code),
        Column("generator", generator, built_generator),
    ]


def _critic(convolutions: Sequence[str], hidden: int) -> list[str]:
    first, *rest = convolutions
    normed = [word for layer in rest for word in (layer, "leaky relu", "batch norm")]
    return [first, "leaky relu", *normed, f"linear {hidden}", "leaky relu", "batch norm", "linear 1"]


def _generator(linear: Sequence[int], upconvolutions: Sequence[str], activation: str) -> list[str]:
    *inner, last = upconvolutions
    words = [word for size in linear for word in (f"linear {size}", "relu", "batch norm")]
    words += [word for layer in inner for word in (layer, activation, "batch norm")]
    return [*words, last, "sigmoid"]


def _code(outputs: int) -> list[str]:
    return ["linear 128", "leaky relu", "batch norm", f"linear {outputs}"]


def table_4() -> list[Column]:
    """MNIST: 2 continuous codes, a category of 10, 62 noise variables."""
    base = gans_on_digits({"": AS_PUBLISHED})("paper")["base"]
    model = {**base["model"], **AS_PUBLISHED}
    return gan_columns(
        Config.of({**base, "model": model}),
        (1, 28, 28),
        _critic(["conv 4x4 64 stride 2", "conv 4x4 128 stride 2"], 1024),
        _code(2 * 2 + 10),
        _generator([1024, 7 * 7 * 128], ["upconv 4x4 64 stride 2", "upconv 4x4 1 stride 2"], "relu"),
    )


def table_5() -> list[Column]:
    """2D Shapes: 4 continuous codes, a category of 3, 5 noise variables."""
    config = Config.of(gan_2d("paper", 0.2, name="InfoGAN"))
    ups = [f"upconv 4x4 {c} stride 2" for c in (64, 32, 32, 1)]
    return gan_columns(
        config, (1, 64, 64), _critic(CONVOLUTIONS, 128), _code(11), _generator([128, 1024], ups, "leaky relu")
    )


def table_6() -> list[Column]:
    """The bigger one for 2D Shapes: 128 noise variables, or the 129 that the paper's input of 136 would need."""
    config = Config.of(gan_2d("paper", 0.2, bigger=True, name="InfoGAN"))
    strides = [(64, 2), (128, 2), (256, 2), (256, 1), (256, 1)]
    ups = [("upconv", 256, 1), ("upconv", 256, 1), ("upconv", 128, 2), ("upconv", 64, 2), ("upconv", 1, 2)]
    networks = gan_columns(
        config,
        (1, 64, 64),
        _critic([f"conv 4x4 {c} stride {s}" for c, s in strides], 1024),
        _code(11),
        # An up-convolution with stride 1 is a convolution.
        _generator(
            [1024, 8 * 8 * 256],
            [f"{'conv' if s == 1 else k} 4x4 {c} stride {s}" for k, c, s in ups],
            "leaky relu",
        ),
    )
    printed = Config.of(gan_2d("paper", 0.2, bigger=True, name="InfoGAN", noise=129))

    def inputs(chosen: Config) -> list[str]:
        model = chosen.make_model((1, 64, 64))
        assert isinstance(model, GAN)
        return [f"inputs {model.inputs}"]

    return [
        *networks,
        Column("generator's input", ["inputs 136"], lambda: inputs(config), {0: CODES_OF_TABLE_6}),
        Column("generator's input, model.noise=129", ["inputs 136"], lambda: inputs(printed)),
    ]


_TITLES = {
    1: ("Encoder and decoder for 2D Shapes", table_1),
    2: ("Encoder and decoder for 3D Shapes, CelebA and chairs", table_2),
    3: ("Encoder and decoder for 3D Faces", table_3),
    4: ("InfoGAN for MNIST", table_4),
    5: ("InfoGAN for 2D Shapes", table_5),
    6: ("Bigger InfoGAN for 2D Shapes", table_6),
}

for _number, (_title, _columns) in _TITLES.items():
    recipe(
        f"fac-table{_number}",
        title=_title,
        claim="The networks that are built have the published layers.",
        published=f"table {_number}",
    )(architecture(_columns))
