import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError
from unweave.metrics import Score, elbo_scores, mig
from unweave.reports import dataset_sheet, write_comparison_report, write_run_report
from unweave.reports.page import _banner

LATENTS = 4


class Blobs:
    """A soft blob at (x, y); its centre of mass determines the factors exactly."""

    name, description, image_shape, count = "Blobs", "a blob", (1, 16, 16), None

    def __init__(self, hole: bool = False) -> None:
        self.space: FactorSpace | None = FactorSpace(("x", "y"), ((0.3, 0.7), (0.3, 0.7)))
        self.hole = hole

    def images(self, factors: Any) -> np.ndarray:
        axis = (np.arange(16) + 0.5) / 16
        x, y = np.asarray(factors, float).T[..., None]
        light = np.exp(-((axis - y) ** 2) / 0.01)[:, :, None] * np.exp(-((axis - x) ** 2) / 0.01)[:, None, :]
        return light[:, None].astype(np.float32)

    def sample(self, n: int, rng: np.random.Generator) -> Any:
        factors = rng.uniform(0.3, 0.7, (n, 2))
        return SimpleNamespace(images=self.images(factors), factors=factors if self.space else None)

    def evaluation(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(0.3, 0.7, (n, 2))

    def held_out(self, factors: np.ndarray) -> np.ndarray:
        return self.hole & (np.abs(factors - 0.5) < 0.1).all(1)


class CenterOfMass:
    """Encodes a blob by its centre, rotated by ``degrees`` in latents 2 and 0."""

    def __init__(self, degrees: float, fold: bool = False) -> None:
        a = np.radians(degrees)
        self.turn, self.fold = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]), fold

    def codes(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        axis, mass = (np.arange(16) + 0.5) / 16, images[:, 0].sum((1, 2))
        place = (
            np.stack([(images[:, 0].sum(1) * axis).sum(1), (images[:, 0].sum(2) * axis).sum(1)], 1)
            / mass[:, None]
        )
        place = (place - 0.5) * 7
        if self.fold:
            place[:, 0] = np.abs(place[:, 0])
        means, scales = np.zeros((len(images), LATENTS)), np.ones((len(images), LATENTS))
        means[:, [2, 0]], scales[:, [2, 0]] = place @ self.turn, 0.1
        return means.astype(np.float32), scales.astype(np.float32)

    def decode_mean(self, codes: np.ndarray) -> np.ndarray:
        return Blobs().images(np.clip(codes[:, [2, 0]] @ self.turn.T / 7 + 0.5, 0, 1))

    def reconstruct(self, images: np.ndarray) -> np.ndarray:
        return self.decode_mean(self.codes(images)[0])


@dataclass
class FakeRun:
    folder: Path
    data: Blobs = field(default_factory=Blobs)
    vae: CenterOfMass = field(default_factory=lambda: CenterOfMass(30))
    decoder: str = "SpatialBroadcast"
    status: str = "finished"
    reason: str | None = None
    evaluated: bool = True

    def __post_init__(self) -> None:
        part = lambda name, **options: SimpleNamespace(name=name, options=options)  # noqa: E731
        self.config = SimpleNamespace(
            data=part("Blobs", path="<my data>"),
            decoder=part(self.decoder, depth=3),
            objective=part("BetaVAE", beta=1.0),
            method=("BetaVAE", self.decoder),
            latents=LATENTS,
            steps=400,
            batch_size=16,
            seed=0,
        )
        self.command = f"unweave train blobs decoder={self.decoder}"
        self.history = [
            {
                "step": i,
                "total": 900 / i,
                "reconstruction": 800 / i,
                "kl": 2.0,
                "kl_per_latent": [1.0, 0.0, 1.0, 0.0],
                "seconds": i,
            }
            for i in range(1, 401)
        ]

    @property
    def scores(self) -> dict[str, Any]:
        if not self.evaluated:
            return {}
        codes = self.codes()
        kl = 0.5 * (codes.means**2 + codes.scales**2 - 1) - np.log(codes.scales)
        found: dict[str, Score] = elbo_scores(np.full(len(kl), 33.0), kl, codes.scales)
        if codes.factors is not None:
            found["mig"] = mig(codes.means, codes.factors)
        return {name: score.to_json() for name, score in found.items()}

    def dataset(self) -> Blobs:
        return self.data

    def model(self) -> CenterOfMass:
        return self.vae

    def codes(self) -> Any:
        batch = self.data.sample(2000, np.random.default_rng(0))
        means, scales = self.vae.codes(batch.images)
        return SimpleNamespace(means=means, scales=scales, factors=batch.factors)


def test_run_report_is_one_file_with_every_part(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    run = FakeRun(tmp_path / "run")
    path = write_run_report(run)
    assert path == tmp_path / "run" / "report.html"
    page = read(path)
    for part in (
        "Scores",
        "Latent geometry",
        "Traversals",
        "Reconstructions",
        "Training",
        "How to repeat this run",
    ):
        assert part in page.text
    assert run.command in page.text
    assert "<my data>" in page.text, "settings are escaped"
    assert "nearly Euclidean copy of x and y (geometry 1.00)" in page.text
    assert "rotated by 30° relative to the latent axes" in page.text
    assert page.pictures == [
        *("images of the data", "their reconstructions"),
        *("a grid over x and y", "codes of the grid in SpatialBroadcast"),
        *(f"latent z{j} varied from -2 to 2" for j in (0, 2, 1, 3)),
        *(
            f"training curve: {name}"
            for name in ("loss", "reconstruction", "KL to the prior", "KL of each latent")
        ),
        "KL of each latent of SpatialBroadcast",
    ]
    assert page.hidden == ["data", "decoded"], "what lies behind the points"
    assert sorted(p.name for p in (run.folder / "pictures").iterdir()) == sorted(
        ["curves.png", "geometry.png", "kl.png", "reconstructions.png", "sweeps.gif", "traversals.png"]
    )


def test_reports_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    one, two = (write_run_report(FakeRun(tmp_path / "run"), tmp_path / name) for name in ("a.html", "b.html"))
    assert one.read_bytes() == two.read_bytes()
    assert not (tmp_path / "run").exists(), "a page elsewhere leaves the run's folder alone"


def test_images_without_factors_have_no_geometry(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    data = Blobs()
    data.space = None
    page = read(write_run_report(FakeRun(tmp_path, data)))
    assert "Latent geometry" not in page.text
    assert "MIG" not in page.text
    assert "The code uses 2.0 of 4 latents" in page.text


def test_unfinished_runs_say_so_at_the_top(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    run = FakeRun(tmp_path, status="diverged", reason="the loss is nan at step 12")
    text = read(write_run_report(run)).text
    words = "This run diverged (the loss is nan at step 12)."
    assert text.index(words) < text.index("Scores")
    assert _banner(FakeRun(tmp_path, status="interrupted"), 400).startswith("This run was interrupted.")
    assert _banner(FakeRun(tmp_path, status="running"), 1200, "A").startswith(
        "A: this run is still running. Logged"
    )
    assert _banner(FakeRun(tmp_path), 400) == ""


def test_run_without_scores_and_history(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    run = FakeRun(tmp_path, evaluated=False)
    run.history = []
    page = read(write_run_report(run))
    assert f"unweave evaluate {tmp_path}" in page.text
    assert "No step has been logged" in page.text
    assert "geometry" in page.text


def test_held_out_region_is_shown(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    page = read(write_run_report(FakeRun(tmp_path, Blobs(hole=True))))
    assert "held out from training" in page.text
    assert "held-out region" in page.text


def test_comparison_derives_its_findings_from_the_scores(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    turned = FakeRun(tmp_path / "a", vae=CenterOfMass(35), decoder="SpatialBroadcast")
    folded = FakeRun(tmp_path / "b", vae=CenterOfMass(0, fold=True), decoder="Deconv")
    page = read(
        write_comparison_report(
            [folded, turned], tmp_path / "c" / "compare.html", "Two decoders", "Look & see."
        )
    )
    assert "Two decoders" in page.text
    assert "Look & see." in page.text
    assert "SpatialBroadcast preserves the shape of the data" in page.text
    assert "Deconv folds the plane" in page.text
    assert re.search(r"rotated by 35° .* MIG from 0\.\d\d to 0\.[6-9]\d", page.text)
    assert "MIG ranks Deconv first" in page.text, "MIG even prefers the folded one"
    assert "SpatialBroadcast folds" not in page.text
    assert page.text.count("unweave train blobs") == 2


def test_comparison_takes_names_and_needs_two_runs(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    run = FakeRun(tmp_path)
    page = read(write_comparison_report({"first": run, "second": run}, tmp_path / "c.html"))
    assert "first and second" in page.text
    assert "The geometry scores do not distinguish the models" in page.text
    with pytest.raises(UnweaveError, match="two runs"):
        write_comparison_report([run], tmp_path / "c.html")


def test_unwritable_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnweaveError, match="cannot write"):
        write_run_report(FakeRun(tmp_path), tmp_path / "file" / "page.html")


def test_dataset_sheet_has_a_row_per_factor() -> None:
    data = Blobs()
    texts = [text.get_text() for text in dataset_sheet(data).axes[0].texts]
    assert texts == ["random", "x", "y", "Blobs"]
    data.space = None
    assert [text.get_text() for text in dataset_sheet(data).axes[0].texts] == ["Blobs"]
