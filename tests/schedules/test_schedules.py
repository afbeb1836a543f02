"""Schedules: rates in closed form, turned codes that compute the same images, and runs that resume to the bit."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from unweave.errors import UnweaveError
from unweave.objectives import OBJECTIVES, BetaVAE, Progress
from unweave.optimizers import OPTIMIZERS
from unweave.runs import Config, Run
from unweave.schedules import SCHEDULES, CodeLayers, Cosine, Linear, Unfolding, independent_directions
from unweave.vae import VAE

SMALL = [
    *("data=XYSquares", "data.size=32", "steps=10", "batch_size=6", "latents=4", "encoder.channels=[4,4,4]"),
    *("encoder.hidden=[32]", "decoder.channels=[4,4,4]", "decoder.hidden=[32]", "learning_rate=1e-3"),
]
TURNS = "schedule.turns=[0.2,0.5]"


def test_rates_are_the_lines_they_say() -> None:
    steps = [0, 10, 40, 70, 99]
    linear = [Linear(warmup=20, hold=0.4, final=0.1).rate(Progress(step, 100)) for step in steps]
    assert linear == pytest.approx([1 / 21, 11 / 21, 1.0, 0.1 + 0.9 * 0.5, 0.1 + 0.9 / 60])
    cosine = [Cosine(hold=0.4, final=0.1).rate(Progress(step, 100)) for step in steps]
    assert cosine == pytest.approx([1.0, 1.0, 1.0, 0.55, 0.1 + 0.45 * (1 - np.cos(np.pi / 60))])


def test_the_kl_is_weighed_and_latents_open_as_planned() -> None:
    schedule = Unfolding(
        opens=((0.0, 1), (0.2, 2)), all_open=0.5, weights=((0.0, 8.0), (0.4, 2.0), (0.6, 1.0))
    )
    assert [schedule.open_latents(Progress(step, 10), 6) for step in range(0, 10, 2)] == [1, 2, 2, 6, 6]
    assert schedule.kl_weight(Progress(2, 10)) == pytest.approx(4.0)  # the geometric mean of 8 and 2
    assert schedule.kl_weight(Progress(9, 10)) == 1.0
    kl = torch.tensor(3.0)
    assert Progress(0, 10, kl_weight=8.0).hold(kl) == 24.0
    assert Progress(0, 10, capacity=5.0, kl_weight=8.0).hold(kl) == 16.0


def test_closed_latents_carry_nothing() -> None:
    torch.manual_seed(0)
    vae, images = VAE.assemble((1, 32, 32), 4), torch.rand(3, 1, 32, 32)
    whole = vae.encode(images)
    vae.open_latents = 2
    q = vae.encode(images)
    torch.testing.assert_close(q.mean[:, :2], whole.mean[:, :2])
    assert torch.equal(q.mean[:, 2:], torch.zeros(3, 2))
    assert torch.equal(q.stddev[:, 2:], torch.ones(3, 2))
    codes = torch.randn(3, 4)
    other = torch.cat([codes[:, :2], torch.randn(3, 2)], 1)
    torch.testing.assert_close(vae.decode(codes).mean, vae.decode(other).mean)
    loss = BetaVAE()(vae, images, Progress(0, 1))
    assert torch.equal(loss.terms["kl_per_latent"][2:], torch.zeros(2))


@pytest.mark.parametrize(
    "decoder",
    [
        "Deconv",
        "CoordConv",
        "DCGAN",
        {"name": "MLP", "hidden": (8,)},
        {"name": "SpatialBroadcast", "width": 8},
        {"name": "SpatialBroadcast", "width": 8, "mlp": (8,)},
    ],
    ids=str,
)
def test_a_turned_code_computes_the_same_images(decoder: object) -> None:
    torch.manual_seed(0)
    vae = VAE.assemble((1, 32, 32), 3, decoder=decoder).eval()  # type: ignore[arg-type]
    images, angle = torch.rand(4, 1, 32, 32), torch.tensor(0.7)
    before = vae.encode(images).mean
    pictures = vae.decode(before).mean
    rotation = torch.eye(3)
    rotation[0, 0] = rotation[1, 1] = angle.cos()
    rotation[0, 1], rotation[1, 0] = angle.sin(), -angle.sin()
    CodeLayers.of(vae).rotate(rotation)
    after = vae.encode(images).mean
    torch.testing.assert_close(after, before @ rotation.T, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(vae.decode(after).mean, pictures, atol=1e-4, rtol=1e-3)


def test_an_isotropic_posterior_turns_exactly() -> None:
    """Its one variance is that of every direction, so means turn and the deviations stay."""
    torch.manual_seed(0)
    vae = VAE.assemble((1, 32, 32), 3, posterior="IsotropicNormal").eval()
    images = torch.rand(4, 1, 32, 32)
    before, rotation = vae.encode(images), torch.linalg.qr(torch.randn(3, 3))[0]
    CodeLayers.of(vae).rotate(rotation, torch.optim.Adam(vae.parameters()))
    after = vae.encode(images)
    torch.testing.assert_close(after.mean, before.mean @ rotation.T, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(after.stddev, before.stddev, atol=0, rtol=0)


def test_what_the_optimiser_keeps_turns_along() -> None:
    torch.manual_seed(0)
    vae = VAE.assemble((1, 32, 32), 2)
    layers = CodeLayers.of(vae)
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
    BetaVAE()(vae, torch.rand(4, 1, 32, 32), Progress(0, 1)).total.backward()
    optimizer.step()
    state = optimizer.state[layers.head.weight]
    first, second = state["exp_avg"].clone(), state["exp_avg_sq"].clone()
    swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    layers.rotate(swap, optimizer)
    torch.testing.assert_close(state["exp_avg"], first[[1, 0, 3, 2]])
    torch.testing.assert_close(state["exp_avg_sq"], second[[1, 0, 3, 2]])


@pytest.mark.parametrize("angle", [0.1, 0.4, 0.75])
def test_uniform_codes_are_turned_back_and_gaussian_ones_left_alone(angle: float) -> None:
    rng = np.random.default_rng(0)
    c, s = np.cos(angle), np.sin(angle)
    turned = np.array([[c, s], [-s, c]])
    factors = rng.uniform(-1.7, 1.7, (4096, 2))
    scales = np.full((4096, 2), 0.2)
    found = independent_directions(factors @ turned, scales, 0.01)
    assert found is not None
    aligned = np.abs(np.corrcoef((factors @ turned @ found.T).T, factors.T)[:2, 2:])
    assert np.sort(aligned.max(axis=1))[0] > 0.99
    assert independent_directions(rng.standard_normal((4096, 2)) @ turned, scales, 0.01) is None
    noise = np.concatenate([factors[:, :1], 0.01 * factors[:, 1:]], 1)
    assert (
        independent_directions(noise, np.array([0.2, 1.0]) * np.ones((4096, 2)), 0.01) is None
    )  # one latent used


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("schedule", list(SCHEDULES))
def test_every_optimiser_with_every_schedule_resumes_to_the_bit(
    optimizer: str, schedule: str, tmp_path: Path
) -> None:
    words = [*SMALL, f"optimizer={optimizer}", f"schedule={schedule}"]
    words += [TURNS, "schedule.least_gain=-1"] if schedule == "Unfolding" else []
    assert_resumes(Config.read(words=words), tmp_path)


def assert_resumes(config: Config, folder: Path) -> None:
    """A run that is stopped at every third step ends with the weights of one that is not."""
    whole = Run.create(config, folder / "whole")
    whole.train()
    run, steps = Run.create(config, folder / "stopped"), 0

    def stop() -> bool:
        nonlocal steps
        steps += 1
        return steps % 3 == 0

    while run.train(stop=stop).status == "interrupted":
        pass
    one, two = (load_file(r.folder / "model.safetensors") for r in (whole, run))
    for name, weights in one.items():
        np.testing.assert_array_equal(weights, two[name], err_msg=name)
    assert [record["total"] for record in whole.history] == [record["total"] for record in run.history]


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
def test_ramps_averages_clipping_and_the_critics_schedule_resume_to_the_bit(
    optimizer: str, tmp_path: Path
) -> None:
    words = [*SMALL, "objective=FactorVAE", "objective.critic_layers=1", "objective.critic_width=32"]
    words += [
        f"critic_optimizer={optimizer}",
        "critic_schedule=Cosine",
        "ramps.gamma.start=1",
        "clip_norm=50",
    ]
    words += ["weight_average=0.8", "optimizer=Muon", "optimizer.begins=0.5", "schedule=Unfolding", TURNS]
    words += ["critic_optimizer.begins=0.5"] if optimizer == "Muon" else []
    assert_resumes(Config.read(words=[*words, "schedule.least_gain=-1"]), tmp_path)


@pytest.mark.parametrize("objective", list(OBJECTIVES))
def test_every_objective_trains_with_muon_and_unfolding(objective: str, tmp_path: Path) -> None:
    words = [*SMALL, f"objective={objective}", "optimizer=Muon", "schedule=Unfolding", TURNS]
    if objective in ("FactorVAE", "AAE"):
        words += ["objective.critic_layers=1", "objective.critic_width=8", "critic_optimizer=AdamW"]
    run = Run.create(Config.read(words=words), tmp_path / "run")
    assert run.train().status == "finished"
    weights = [record["total"] for record in run.history]
    assert np.all(np.isfinite(weights))


def test_the_lesson_is_the_distance_of_two_latents_from_the_mean_colour() -> None:
    """Of images of one colour each, by hand: shares, opponent axes, standard deviations of the batch."""
    colours = np.array([[0.9, 0.3, 0.0], [0.1, 0.5, 0.2], [0.2, 0.2, 0.6], [0.4, 0.3, 0.3]])
    shares = colours / colours.sum(1, keepdims=True)
    axes = np.stack([shares[:, 0] - shares[:, 1], shares[:, 0] + shares[:, 1] - 2 * shares[:, 2]], 1)
    target = (axes - axes.mean(0)) / axes.std(0, ddof=1)
    torch.manual_seed(3)
    vae = VAE.assemble((3, 32, 32), 5)
    images = torch.from_numpy(colours.astype(np.float32))[:, :, None, None].expand(4, 3, 32, 32)
    dark = images * torch.tensor([1.0, 0.5, 0.25, 0.1])[:, None, None, None]
    schedule = Unfolding(colours=0.7, colours_weight=8.0)
    for batch in (images, dark):  # brightness is no colour
        lesson = schedule.lesson(vae, batch, Progress(40, 100))
        assert lesson is not None
        means = vae.encode(batch).mean.detach().numpy()
        expected = 8.0 * 0.5 * ((means[:, 3:] - target) ** 2).sum(1).mean()
        assert lesson.item() == pytest.approx(expected, rel=1e-4)
    lesson.backward()
    head = CodeLayers.of(vae).head.weight.grad
    assert head is not None
    taught = head.abs().sum(1) > 0
    assert taught.tolist() == [False, False, False, True, True, *[False] * 5]


def test_colours_are_taught_from_the_opening_of_all_latents_to_the_end_of_the_lesson() -> None:
    vae, images = VAE.assemble((3, 32, 32), 5), torch.rand(4, 3, 32, 32)
    plain, taught = Unfolding(), Unfolding(all_open=0.3, colours=0.7)
    assert [taught.lesson(vae, images, Progress(step, 10)) is not None for step in (0, 2, 3, 6, 7, 9)] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert plain.lesson(vae, images, Progress(4, 10)) is None


def test_grey_images_have_no_colours_to_teach() -> None:
    with pytest.raises(UnweaveError, match="needs images of three channels, these have 1"):
        Unfolding(colours=0.7).check(VAE.assemble((1, 32, 32), 6))


def test_the_lesson_is_part_of_the_loss_of_a_step(tmp_path: Path) -> None:
    words = [*SMALL, "latents=6", "schedule=Unfolding", "schedule.colours=0.7", TURNS]
    run = Run.create(Config.read(words=words), tmp_path / "run")
    run.train()
    lessons = [record.get("lesson") for record in run.history]
    assert [lesson is not None for lesson in lessons] == [3 <= step < 7 for step in range(10)]
    for record in run.history:
        weight = Unfolding().kl_weight(Progress(record["step"] - 1, 10))
        expected = record["reconstruction"] + weight * record["kl"] + record.get("lesson", 0.0)
        assert record["total"] == pytest.approx(expected, rel=1e-5)


def test_a_run_that_is_taught_resumes_to_the_bit(tmp_path: Path) -> None:
    words = [*SMALL, "latents=6", "schedule=Unfolding", "schedule.colours=0.8", TURNS, "optimizer=Muon"]
    assert_resumes(Config.read(words=words), tmp_path)


def test_a_gan_has_no_latents_to_open(tmp_path: Path) -> None:
    words = ["data=circles", "data.size=32", "model=InfoGAN", "schedule=Unfolding", "steps=1", "batch_size=4"]
    with pytest.raises(UnweaveError, match="opens the latents of a VAE: choose schedule=Linear"):
        Run.create(Config.read(words=words), tmp_path / "run").train()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["schedule=Linear", "schedule.hold=1"], "schedule.hold must be at least 0 and less than 1"),
        (["schedule=Constant", "schedule.warmup=-1"], "schedule.warmup must be at least 0"),
        (["schedule=Unfolding", "schedule.turns=[2]"], "are fractions of all steps"),
        (["schedule=Unfolding", "schedule.weights=[[0,0]]"], "must be greater than 0"),
        (["schedule=Unfolding", "schedule.colours=0.2"], "must lie between schedule.all_open = 0.3 and 1"),
        (["schedule=Unfolding", "schedule.colours=0.7"], "latents must be at least 5, got 4"),
        (["schedule=Unfoldin"], "did you mean Unfolding"),
        (["optimizer=Muan"], "did you mean Muon"),
    ],
)
def test_wrong_schedules_are_one_sentence(words: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UnweaveError, match=message):
        Run.create(Config.read(words=[*SMALL, *words]), tmp_path / "run").train()


def test_new_keys_change_no_older_identity() -> None:
    plain = Config.read(words=["data=circles"])
    named = Config.read(words=["data=circles", "optimizer=Adam", "schedule=Constant", "optimizer.eps=1e-8"])
    assert plain.identity == named.identity
    others = [
        ["optimizer=Muon"],
        ["optimizer.eps=1e-6"],
        ["schedule=Linear"],
        ["schedule=Unfolding"],
        ["schedule=Unfolding", "schedule.colours=0.7"],
        ["critic_optimizer.amsgrad=true"],
        ["critic_schedule=Linear"],
        ["ramps.beta=4"],
        ["weight_average=0.9"],
        ["clip_norm=1"],
    ]
    found = {Config.read(words=["data=circles", *words]).identity for words in others}
    assert len(found | {plain.identity}) == 11
