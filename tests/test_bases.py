"""The abstract bases of parts: every built-in part inherits from its base and is final; a part from outside works."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, Laplace, Normal

from unweave.data import Arrays
from unweave.gan import GANS
from unweave.likelihoods import LIKELIHOODS, Likelihood
from unweave.networks import DECODERS, ENCODERS
from unweave.objectives import OBJECTIVES, Loss, Objective, Progress
from unweave.objectives.core import bound
from unweave.pairing import PAIRINGS, Pairing
from unweave.posteriors import POSTERIORS, Posterior
from unweave.priors import PRIORS, Prior
from unweave.standalone import StandaloneModel
from unweave.training import train
from unweave.vae import VAE

BASES: dict[type, Mapping[str, type]] = {
    Prior: PRIORS,
    Posterior: POSTERIORS,
    Likelihood: LIKELIHOODS,
    Objective: OBJECTIVES,
    Pairing: {name: part for name, part in PAIRINGS.items() if name != "none"},
    StandaloneModel: GANS,
    torch.nn.Module: {**ENCODERS, **DECODERS},
}


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.__name__)
def test_every_part_inherits_from_its_base_and_is_final(base: type) -> None:
    for name, part in BASES[base].items():
        assert issubclass(part, base), name
        assert getattr(part, "__final__", False), f"{name} is neither abstract nor final"


@pytest.mark.parametrize("base", [base for base in BASES if base is not torch.nn.Module])
def test_a_base_is_abstract(base: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match="abstract"):
        base(2) if base in (Prior, Likelihood) else base()


@pytest.mark.parametrize("base", [Prior, Posterior, Likelihood, Objective, StandaloneModel])
def test_a_base_names_the_three_things_it_needs(base: type) -> None:
    text = base.__doc__ or ""
    assert "provides three things" in text
    assert all(f"\n    {number}. " in text for number in (1, 2, 3))
    assert ">>>" in text


class Sharp(Prior):
    def __init__(self, latents: int, *, scale: float = 0.5) -> None:
        super().__init__(latents)
        self.scale = scale
        self.drawn = 0

    def initialise(self, draw: Callable[[int], Tensor]) -> None:
        self.drawn = len(draw(5))

    def forward(self) -> Distribution:
        return Independent(Laplace(torch.zeros(self.latents), torch.full((self.latents,), self.scale)), 1)


class OneScale(Posterior):
    def __init__(self, latents: int) -> None:
        super().__init__(latents, features=latents + 1)

    def forward(self, features: Tensor) -> Distribution:
        mean = features[:, :-1]
        return Independent(Normal(mean, features[:, -1:].exp().expand_as(mean)), 1)


class TwoMaps(Likelihood):
    """Means and log-scales from a decoder with twice the channels."""

    def __init__(self, image_shape: tuple[int, int, int]) -> None:
        super().__init__(image_shape, (2 * image_shape[0], *image_shape[1:]))

    def forward(self, features: Tensor) -> Distribution:
        mean, log_scale = features.chunk(2, 1)
        return Independent(Normal(mean, log_scale.exp()), 3)


class Squares(Objective):
    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        made = bound(vae, images)
        return Loss(made.reconstruction + made.z.square().sum(1).mean(), made.reconstruction, made.terms)


def test_parts_from_outside_train_together() -> None:
    torch.manual_seed(0)
    prior = Sharp(3)
    vae = VAE.assemble(
        (1, 8, 8),
        latents=3,
        encoder={"name": "MLP", "hidden": [8]},
        decoder={"name": "MLP", "hidden": [8]},
        prior=prior,
        posterior=OneScale(3),
        likelihood=TwoMaps((1, 8, 8)),
    )
    images = np.random.default_rng(0).random((12, 8, 8)).astype(np.float32)
    done = train(vae, Squares(), Arrays.from_arrays(images), steps=3, batch_size=4, learning_rate=1e-3)
    assert done.status == "finished"
    assert prior.drawn == 5
    means, scales = vae.codes(images[:, None])
    assert means.shape == scales.shape == (12, 3)
    assert np.ptp(scales, axis=1).max() < 1e-6
    assert vae.decode_mean(means).shape == (12, 1, 8, 8)


def test_a_prior_takes_nothing_from_the_data_unless_it_says_so() -> None:
    asked: dict[str, int] = {}

    def images_for(name: str) -> Callable[[int], Tensor]:
        def draw(n: int) -> Tensor:
            asked[name] = asked.get(name, 0) + n
            return torch.rand(n, 1, 8, 8, generator=torch.Generator().manual_seed(0))

        return draw

    for name, part in PRIORS.items():
        part(4).initialise(images_for(name))
    assert set(asked) == {"AnisotropicNormal"}
    assert asked["AnisotropicNormal"] > 4
