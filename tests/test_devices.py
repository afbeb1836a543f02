"""No GPU here, so PyTorch's ``meta`` device in its place: whatever a step makes on the CPU does not fit to it.

The models are built on the CPU and moved, as a run does it, so a tensor that ``to`` does not move stays behind. Every
operation of a step is watched: one that takes tensors of both devices is what would fail on a GPU.
"""

from collections.abc import Iterator, Sequence
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Independent, Normal
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from unweave.data import Arrays
from unweave.functional.aggregate_posterior import Estimator, aggregate, mixture_weights
from unweave.functional.singular_values import principal_variances
from unweave.likelihoods import LIKELIHOODS
from unweave.networks import DECODERS, ENCODERS
from unweave.objectives import OBJECTIVES, Progress
from unweave.pairing import PAIRINGS
from unweave.posteriors import POSTERIORS
from unweave.priors import PRIORS
from unweave.runs import Config
from unweave.schedules.code_layers import CodeLayers
from unweave.slots import options_of
from unweave.vae import VAE

SHAPE = (1, 32, 32)
LATENTS = 4
SMALL = {"name": "MLP", "hidden": [8]}
DATA = Arrays.from_arrays(np.zeros((12, 32, 32), np.float32), np.arange(12)[:, None])
TRANSFERS = ("_to_copy", "copy_", "index", "index_put", "index_put_", "_index_put_impl_")
"""What may take tensors of both devices on a GPU, too: transfers, and indices that are on the CPU."""


@pytest.fixture(autouse=True)
def unchecked() -> Iterator[None]:
    """Checks of torch's own distributions look into the tensors, which have no content here."""
    torch.distributions.Distribution.set_default_validate_args(False)
    yield
    torch.distributions.Distribution.set_default_validate_args(__debug__)


class OneDevice(TorchDispatchMode):
    """Inside, operations on the device take nothing from the CPU but numbers; who asks for a number is told no."""

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: Sequence[Any] = (), options: dict[str, Any] | None = None
    ) -> Any:
        tensors = [leaf for leaf in tree_leaves((arguments, options)) if isinstance(leaf, Tensor)]
        devices = {tensor.device.type for tensor in tensors if tensor.dim()}
        name = function.overloadpacket.__name__
        if len(devices) > 1 and name not in TRANSFERS:
            shapes = [f"{tuple(t.shape)} on {t.device}" for t in tensors]
            raise AssertionError(f"{name} takes {', '.join(shapes)}")
        if name == "_local_scalar_dense":  # waits for a GPU, but works there
            return False
        return function(*arguments, **(options or {}))


def images(count: int = 6) -> Tensor:
    return torch.empty(count, *SHAPE, device="meta")


def assemble(**parts: Any) -> VAE:
    return VAE.assemble(SHAPE, LATENTS, **{"encoder": SMALL, "decoder": SMALL, **parts}).to("meta")


def step(vae: VAE, words: str = "objective=BetaVAE") -> None:
    """The loss of a batch and its gradient, and those of the critic if there is one."""
    chosen = Config.read(words=["data=circles", *words.split()]).objective
    objective = OBJECTIVES.make({"name": chosen.name, **chosen.options}, latents=LATENTS).to("meta")
    objective.prepare(DATA, 6)
    batch = images(6 * objective.batches)
    with OneDevice():
        loss = objective(vae, batch, Progress(1, 10))
        assert loss.total.device.type == "meta"
        loss.total.backward()
        if objective.critic_parameters(vae):
            assert objective.critic_loss(vae, batch, loss, 0).total.device.type == "meta"


def test_a_tensor_left_on_the_cpu_is_found() -> None:
    with OneDevice(), pytest.raises((AssertionError, RuntimeError), match=r"takes|same device"):
        images() @ torch.zeros(32, 32)


@pytest.mark.parametrize("words", sorted({form.words for part in OBJECTIVES.values() for form in part.forms}))
def test_the_step_of_every_objective(words: str) -> None:
    step(assemble(), words)


@pytest.mark.parametrize("name", list(PRIORS))
@pytest.mark.parametrize("learned", [False, True])
def test_samples_and_densities_of_every_prior(name: str, learned: bool) -> None:
    if learned and "learned" not in options_of(PRIORS[name]):
        pytest.skip("it learns nothing")
    prior = PRIORS.make({"name": name, **({"learned": True} if learned else {})}, latents=LATENTS).to("meta")
    with OneDevice():
        p = prior()
        samples = p.sample((5,))
        assert samples.device.type == "meta"
        assert p.log_prob(samples).device.type == "meta"


@pytest.mark.parametrize("name", list(POSTERIORS))
def test_the_step_with_every_posterior(name: str) -> None:
    step(assemble(posterior=name))


@pytest.mark.parametrize("name", list(LIKELIHOODS))
@pytest.mark.parametrize("blur", [{}, {"blur": "box", "blur_radius": 2}])
def test_the_step_with_every_likelihood(name: str, blur: dict[str, Any]) -> None:
    step(assemble(likelihood={"name": name, **blur}))


@pytest.mark.parametrize("slot", ["encoder", "decoder"])
def test_the_step_with_every_network(slot: str) -> None:
    for name in ENCODERS if slot == "encoder" else DECODERS:
        step(assemble(**{slot: name}))


@pytest.mark.parametrize("name", [name for name in PAIRINGS if name != "none"])
def test_the_step_with_every_pairing(name: str) -> None:
    vae = assemble(pairing=PAIRINGS.make(name))
    with OneDevice():
        vae.infer(images())


@pytest.mark.parametrize("estimator", get_args(Estimator))
def test_the_weights_of_an_aggregate(estimator: Estimator) -> None:
    means = torch.empty(6, LATENTS, device="meta")
    q = Independent(Normal(means, means.exp(), validate_args=False), 1)
    with OneDevice():
        assert aggregate(q, means, mixture_weights(estimator, 6, 100)).joint.device.type == "meta"


def test_variances_of_blocks() -> None:
    with OneDevice():
        assert principal_variances([torch.empty(5, 3, device="meta")] * 2, 2).device.type == "meta"


def test_a_code_is_turned_where_its_weights_are() -> None:
    vae = assemble(encoder={"name": "Conv", "channels": [4, 4], "hidden": [8]})
    with OneDevice(), torch.no_grad():
        CodeLayers.of(vae).rotate(torch.eye(LATENTS, dtype=torch.float64))
