"""What is saved of a VAE that ``unweave.train`` trained: its parts as a config, which must give this very VAE."""

import contextlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from unweave.errors import UnweaveError
from unweave.references import is_reference, split_reference
from unweave.runs.config import SLOTS, Config
from unweave.runs.weights import About, DataFacts
from unweave.slots import Choice
from unweave.vae import VAE

if TYPE_CHECKING:
    from unweave.training import Outcome
    from unweave.training.trainer import Call

PARTS = ("encoder", "decoder", "posterior", "prior", "likelihood")


def about_of(vae: VAE, outcome: "Outcome") -> About:
    """Config, data and step of a VAE after :func:`unweave.train`, checked: they give the same VAE again.

    Args:
        vae: what was trained.
        outcome: what ``train`` returned.

    Example:
        >>> import numpy as np
        >>> from unweave import VAE, train
        >>> vae = VAE.assemble((1, 32, 32), latents=2, decoder={"name": "Deconv", "hidden": (8,)})
        >>> outcome = train(vae, "BetaVAE", np.zeros((5, 32, 32), np.uint8), steps=1, batch_size=4)
        >>> about_of(vae, outcome).config.decoder.options["hidden"]
        (8,)
    """
    if outcome.call is None:
        raise UnweaveError("this is the outcome of a run: open its folder with unweave.load")
    if not isinstance(vae, VAE):
        raise UnweaveError(
            f"only a VAE can be saved after train, got {type(vae).__name__}: train it as a run"
        )
    parts = {slot: _choice(slot, vae.choices.get(slot, getattr(vae, slot))) for slot in PARTS}
    asked = {
        "data": _data(outcome.call),
        **parts,
        "objective": _choice("objective", outcome.call.objective),
        **({} if vae.pairing is None else {"pairing": _choice("pairing", vae.pairing)}),
        **outcome.call.settings,
        "latents": vae.latents,
    }
    config = Config.of(asked)
    dataset = outcome.call.dataset
    count = None if dataset.count is None else int(dataset.count)
    _check(vae, config)
    return About(config, DataFacts(vae.image_shape, 0, dataset.space, count), outcome.step)


def _choice(slot: str, part: object) -> Choice:
    """A part, however it was given, as a config names it; an error if another process would not find its class."""
    choice = SLOTS[slot].choose(part)
    place, name = split_reference(choice.name) if is_reference(choice.name) else ("", "")
    if place == "__main__" or "<locals>" in name:
        raise UnweaveError(
            f"the {slot} {name.rpartition('.')[2]} is a class of this session alone, so no file can name it: put it "
            f"into a module or a .py file to save a model with it"
        )
    return choice


def _data(call: "Call") -> object:
    """The data as a config names them; images that came as arrays have no name."""
    if isinstance(call.data, str | os.PathLike):
        return os.fspath(call.data)
    if isinstance(call.data, Mapping | Choice):
        return call.data
    with contextlib.suppress(UnweaveError):  # made from arrays, or it does not keep its options
        return _choice("data", call.dataset)
    return Choice("Arrays", {"path": "", "size": None})


@torch.no_grad()
def _check(vae: VAE, config: Config) -> None:
    """An error if the parts of a config do not give this VAE: one that was built or changed by hand."""
    with torch.random.fork_rng(devices=[]):
        again = config.make_model(vae.image_shape)
        assert isinstance(again, VAE)
        for slot in PARTS:
            ours, theirs = getattr(vae, slot), getattr(again, slot)
            stored = {name: tensor.shape for name, tensor in ours.state_dict().items()}
            if {name: tensor.shape for name, tensor in theirs.state_dict().items()} != stored:
                raise UnweaveError(
                    f"the {slot} was built by hand, and {getattr(config, slot).label} with its options does not give "
                    f"its weights: give VAE.assemble a name, a class or a reference to save the model"
                )
        again.load_state_dict(vae.state_dict())
        images = torch.rand(2, *vae.image_shape, generator=torch.Generator().manual_seed(0))
        found = []
        for model in (vae, again):
            was, device = model.training, model.device
            torch.manual_seed(0)
            made = model.eval().to("cpu").measure(images)
            model.to(device).train(was)
            found.append(torch.cat([part.flatten() for part in made if part is not None]))
    if not torch.equal(*found):
        raise UnweaveError(
            "the VAE was changed by hand: its parts as they were chosen give other numbers than it does, so it cannot "
            "be saved; put what was changed into a part of your own (docs/extending.md)"
        )
