"""A VAE that ``unweave.train`` trained is saved, carried and opened; what cannot be is refused in one sentence."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import unweave
from unweave import VAE, TrainedModel
from unweave.errors import UnweaveError
from unweave.likelihoods import MSE
from unweave.networks import DECODERS, Conv, Deconv
from unweave.priors import StudentT
from unweave.training import Outcome

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 32, 32, 3), dtype=np.uint8)
SMALL = {"encoder": {"name": "MLP", "hidden": (8,)}, "decoder": {"name": "MLP", "hidden": (6,)}}


class Tiny(nn.Module):
    def __init__(self, latents: int, output_shape: tuple[int, int, int], *, width: int = 4) -> None:
        super().__init__()
        self.width = width
        layers = nn.Linear(latents, width), nn.Linear(width, 3 * 32 * 32), nn.Unflatten(1, output_shape)
        self.layers = nn.Sequential(*layers)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        images: torch.Tensor = self.layers(codes)
        return images


def trained(vae: VAE, data: object = IMAGES, objective: object = "BetaVAE") -> Outcome:
    return unweave.train(vae, objective, data, steps=3, batch_size=4, seed=5, quiet=True, optimizer="Muon")


def test_save_and_load_are_bit_identical(tmp_path: Path) -> None:
    vae = VAE.assemble((3, 32, 32), 3, **SMALL, likelihood="Gaussian", prior={"name": "StudentT", "nu": 7})
    outcome = trained(vae, objective={"name": "BetaTCVAE", "beta": 3})
    model = TrainedModel.of(vae, outcome)
    folder = model.save(tmp_path / "mine")
    again = unweave.load(folder)
    assert again.config.objective.options["beta"] == 3
    assert (again.config.optimizer.name, again.config.steps, again.config.seed) == ("Muon", 3, 5)
    assert again.config.prior.options["nu"] == 7
    assert (again.data.count, again.about.step) == (12, 3)
    for ours, theirs in zip(
        vae.codes(IMAGES), (again.encode(IMAGES).means, again.encode(IMAGES).scales), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(vae.decode_mean(np.ones((2, 3))), again.decode(np.ones((2, 3))))
    second = again.save(tmp_path / "again")
    for name in ("model.safetensors", "config.yaml", "traversal.png"):
        assert (folder / name).read_bytes() == (second / name).read_bytes()
    assert "trained on images in memory" in (folder / "README.md").read_text()


def test_built_in_parts_given_as_instances_are_saved_with_what_they_were_made_with(tmp_path: Path) -> None:
    shape = (3, 32, 32)
    parts = {
        "encoder": Conv(shape, 6, channels=(4, 8), hidden=(5,)),
        "decoder": Deconv(3, shape, channels=(8, 4), hidden=(7,)),
        "prior": StudentT(3, nu=9.0),
        "likelihood": MSE(shape),
    }
    vae = VAE.assemble(shape, 3, **parts)
    again = unweave.load(TrainedModel.of(vae, trained(vae)).save(tmp_path / "mine"))
    assert again.config.decoder.options["hidden"] == (7,)
    assert again.config.decoder.options["channels"] == (8, 4)
    assert again.config.prior.options["nu"] == 9
    np.testing.assert_array_equal(vae.codes(IMAGES)[0], again.encode(IMAGES).means)
    np.testing.assert_array_equal(vae.decode_mean(np.ones((2, 3))), again.decode(np.ones((2, 3))))


class Wider(Deconv):
    """Has an option that it forgets, and hides one of the class that it is derived from."""

    def __init__(self, latents: int, output_shape: tuple[int, int, int], *, times: int = 1) -> None:
        super().__init__(latents, output_shape, hidden=(times * 2,))


def test_a_class_derived_from_a_built_in_part_is_not_taken_for_it() -> None:
    with pytest.raises(UnweaveError, match="it does not keep its option 'times' as an attribute"):
        DECODERS.choose(Wider(2, (1, 32, 32), times=3))


@pytest.mark.parametrize("data", ["circles", unweave.data.Circles(), {"name": "circles", "hole": "center"}])
def test_data_with_a_name_keep_it(data: object) -> None:
    vae = VAE.assemble((3, 64, 64), 2, **SMALL)
    model = TrainedModel.of(vae, trained(vae, data, unweave.objectives.BetaVAE(beta=2)))
    assert model.config.data.name == "Circles"
    assert model.config.data.options["hole"] == ("center" if isinstance(data, dict) else "none")
    assert model.factors is not None and model.factors.names == ("x", "y")
    assert model.config.objective.options["beta"] == 2


def test_instances_that_keep_their_options_are_saved(tmp_path: Path) -> None:
    encoder, decoder = SMALL["encoder"], Tiny(2, (3, 32, 32), width=5)
    vae = VAE.assemble((3, 32, 32), 2, encoder=encoder, decoder=decoder)
    folder = TrainedModel.of(vae, trained(vae)).save(tmp_path / "mine")
    again = unweave.load(folder)
    assert (again.config.decoder.label, again.config.decoder.options) == ("Tiny", {"width": 5})
    np.testing.assert_array_equal(vae.decode_mean(np.ones((1, 2))), again.decode([1, 1]))


def test_what_was_built_by_hand_is_one_sentence() -> None:
    class Tinier(Tiny):
        pass

    vae = VAE.assemble((3, 32, 32), 2, encoder=SMALL["encoder"], decoder=Tinier)
    with pytest.raises(UnweaveError, match="the decoder Tinier is a class of this session alone"):
        TrainedModel.of(vae, trained(vae))
    by_hand = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 4))
    vae = VAE.assemble((3, 32, 32), 2, encoder=by_hand, decoder=SMALL["decoder"])
    with pytest.raises(UnweaveError, match="the encoder was built by hand, and Sequential with its options"):
        TrainedModel.of(vae, trained(vae))


@pytest.mark.parametrize("change", ["encoder", "likelihood"])
def test_a_vae_that_was_changed_by_hand_is_one_sentence(change: str) -> None:
    vae = VAE.assemble((3, 32, 32), 2, **SMALL)
    outcome = trained(vae)
    if change == "encoder":
        vae.encoder.register_forward_hook(lambda module, inputs, output: 2 * output)
    else:
        vae.likelihood.with_overlap(torch.sigmoid, 3.0)  # type: ignore[operator]
    with pytest.raises(UnweaveError, match="the VAE was changed by hand"):
        TrainedModel.of(vae, outcome)


def test_the_outcome_of_a_run_is_one_sentence() -> None:
    with pytest.raises(UnweaveError, match=r"open its folder with unweave.load"):
        TrainedModel.of(VAE.assemble((3, 32, 32), 2, **SMALL), Outcome("finished", 3))
