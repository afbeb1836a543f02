"""A trained model as the explorer's page holds it: a description in JSON and one block of weights."""

from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
import torch

from unweave.errors import check_choice
from unweave.explorer.blob import Blob, NotPackable, Precision
from unweave.explorer.operations import (
    MapShape,
    Program,
    array,
    critic_program,
    decoder_program,
    encoder_program,
    require_known,
)
from unweave.gan import GAN, GANS
from unweave.likelihoods import MSE, Bernoulli, Gaussian, Likelihood
from unweave.posteriors import BallMixture, DiagonalNormal, FullNormal, IsotropicNormal, Posterior
from unweave.standardise import Standardised, StandardisedLikelihood
from unweave.vae import VAE, Model

if TYPE_CHECKING:
    from unweave.models.trained import TrainedModel

FORMAT = 1
"""Of the description; the page refuses another."""

PREVIEW = 32
"""A decoder that can be asked for any size is asked for halves of its own down to this side."""


class Packed(NamedTuple):
    """What the page needs of a model: ``description`` (for JSON) and ``weights``, the arrays that it refers to.

    Example:
        >>> Packed({"latents": 2}, b"").description["latents"]
        2
    """

    description: dict[str, Any]
    weights: bytes


def pack(model: "TrainedModel", precision: Precision = "fixed16") -> Packed:
    """The networks of a model for the page, of which the kernel computes what ``decode`` and ``encode`` compute.

    ``description`` has the image's shape, the number of latents, ``sizes`` (heights and widths that the decoder can be
    asked for, the image's own last), the operations of ``decoder`` and ``encoder``, as
    :mod:`unweave.explorer.operations` explains them, ``encoder_from``, the byte at which the encoder's arrays begin,
    and, if ``encoder`` is none, ``encoder_missing``, the sentence that says why.

    Args:
        model: what to pack.
        precision: of the weights, see :class:`~unweave.explorer.blob.Blob`: ``fixed16`` and ``float16`` take half of
            the bytes of ``float32``; images of trained decoders differed by up to 1.4e-3 and 3e-3 (docs/explorer.md).

    Raises:
        NotPackable: if the decoder is not built-in, or its weights are not finite.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> words = ["data=circles", "latents=2", "decoder=SpatialBroadcast"]
        >>> packed = pack(TrainedModel.untrained(Config.read(words=words), (3, 64, 64)))
        >>> packed.description["sizes"], len(packed.weights)
        ([[32, 32], [64, 64]], 908856)
    """
    check_choice("precision", precision, get_args(Precision))
    network, blob = model.model, Blob(precision)
    require_known("model", network, (VAE, *GANS.values()), "models")
    parts = _gan(network, blob) if isinstance(network, GAN) else _vae(network, blob)
    description = {
        "format": FORMAT,
        "image_shape": list(network.image_shape),
        "latents": network.latents,
        "precision": precision,
        "sizes": _sizes(network.image_shape, parts["decoder"]["operations"]),
        **parts,
    }
    return Packed(description, blob.content())


def _vae(vae: Model, blob: Blob) -> dict[str, Any]:
    assert isinstance(vae, VAE)
    program = decoder_program(vae.decoder)
    output = _output(vae.likelihood, program)
    decoder = {
        "operations": program.stored(blob),
        "codes": {"kind": "plain", "open": vae.open_latents},
        "output": output,
    }
    begins = len(blob)
    try:
        encoder, missing = _vae_encoder(vae, blob), None
    except NotPackable as error:
        encoder, missing = None, str(error)
    return {"decoder": decoder, "encoder": encoder, "encoder_from": begins, "encoder_missing": missing}


def _vae_encoder(vae: VAE, blob: Blob) -> dict[str, Any]:
    network, channels = vae.encoder, vae.image_shape[0]
    mean, deviation = [0.0] * channels, [1.0] * channels
    if (
        isinstance(network, torch.nn.Sequential)
        and len(network) == 2
        and isinstance(network[0], Standardised)
    ):
        scale, network = network[0], network[1]
        mean, deviation = array(scale.mean).ravel().tolist(), array(scale.std).ravel().tolist()
    posterior = {**_posterior(vae.posterior), "open": vae.open_latents}
    operations = encoder_program(network).stored(blob)
    return {"mean": mean, "deviation": deviation, "operations": operations, "posterior": posterior}


def _posterior(posterior: Posterior) -> dict[str, Any]:
    """How means and deviations follow from the encoder's features."""
    known = (DiagonalNormal, IsotropicNormal, FullNormal, BallMixture)
    require_known("posterior", posterior, known, "posteriors")
    if isinstance(posterior, DiagonalNormal):
        return {"kind": "diagonal"}
    if isinstance(posterior, IsotropicNormal):
        return {"kind": "isotropic"}
    if isinstance(posterior, FullNormal):
        return {"kind": "full"}
    assert isinstance(posterior, BallMixture)
    return {"kind": "ball", "share": posterior.share, "radius": posterior.radius}


def _output(likelihood: Likelihood, program: Program) -> dict[str, Any]:
    """How the expected image follows from the decoder's features; features that it does not need are left out."""
    channels = likelihood.image_shape[0]
    scale, shift = [1.0] * channels, [0.0] * channels
    if isinstance(likelihood, StandardisedLikelihood):
        constants = likelihood.scale
        scale, shift = array(constants.std).ravel().tolist(), array(constants.mean).ravel().tolist()
        likelihood = likelihood.inner
    require_known("likelihood", likelihood, (Bernoulli, Gaussian, MSE), "likelihoods")
    if isinstance(likelihood, Gaussian) and likelihood.per_output:
        program.keep_channels(channels)
    kind = "sigmoid" if isinstance(likelihood, Bernoulli) else "clip"
    return {"kind": kind, "scale": scale, "shift": shift}


def _gan(gan: GAN, blob: Blob) -> dict[str, Any]:
    program, channels = decoder_program(gan.generator), gan.image_shape[0]
    _fold_noise(program, array(gan.shown_noise))
    classes = [torch.linspace(-1, 1, size).tolist() for size in gan.categorical]
    codes = {"continuous": gan.continuous, "classes": classes}
    decoder = {
        "operations": program.stored(blob),
        "codes": {"kind": "classes", **codes},
        "output": {"kind": "sigmoid", "scale": [1.0] * channels, "shift": [0.0] * channels},
    }
    begins = len(blob)
    encoder = {
        "mean": [0.0] * channels,
        "deviation": [1.0] * channels,
        "operations": critic_program(gan.critic, gan.image_shape).stored(blob),
        "posterior": {"kind": "classes", **codes},
    }
    return {"decoder": decoder, "encoder": encoder, "encoder_from": begins, "encoder_missing": None}


def _fold_noise(program: Program, noise: "np.ndarray[Any, np.dtype[np.float64]]") -> None:
    """The noise of a shown image is fixed: what it gives to the first layer is part of the bias."""
    first = program.operations[0]
    used = first["weight"].shape[1] - len(noise)
    first["bias"] = first["bias"] + first["weight"][:, used:] @ noise
    first["weight"] = first["weight"][:, :used]


def _sizes(image_shape: MapShape, operations: list[dict[str, Any]]) -> list[list[int]]:
    """Heights and widths for which the decoder can be asked, the image's own last."""
    _, height, width = image_shape
    sizes = [[height, width]]
    for operation in operations:
        if operation["op"] == "broadcast" and operation["grid"] is None:
            shrink = height // operation["tile"][0]
            while all(side % (2 * shrink) == 0 and side // 2 >= PREVIEW for side in sizes[0]):
                sizes.insert(0, [side // 2 for side in sizes[0]])
    return sizes
