"""``unweave report`` and ``unweave reproduce`` write pages, and every figure for a paper."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from unweave.cli import cli

pytestmark = pytest.mark.usefixtures("few_images")

TINY = [
    *("data=circles", "data.size=32", "latents=2", "steps=2", "batch_size=4", "encoder=MLP", "decoder=MLP"),
    *("encoder.hidden=[8]", "decoder.hidden=[8]"),
]


def run(*words: str) -> str:
    ended = CliRunner().invoke(cli, words, catch_exceptions=False)
    return ended.output


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "one"
    run("train", *TINY, "--out", str(folder), "--no-report", "--quiet")
    run("evaluate", str(folder), "--metrics", "elbo,mig", "--quiet")
    return folder


def test_every_figure_of_the_page_is_written_for_a_paper(trained: Path, tmp_path: Path) -> None:
    before = (trained / "report.html").read_bytes()
    told = run("report", str(trained), "--figures", str(tmp_path / "paper"), "--format", "svg")
    names = {path.name for path in (tmp_path / "paper").iterdir()}
    shown = {"reconstructions.svg", "traversals.svg", "kl.svg", "curves.svg", "geometry.svg"}
    assert shown <= names and names - shown <= {"map-information.svg", "map-correlation.svg", "responses.svg"}
    assert all((tmp_path / "paper" / name).read_text().startswith("<?xml") for name in names)
    assert told.count("figure: ") == len(names) and "report:" not in told
    assert (trained / "report.html").read_bytes() == before, "the page is written with --out only"
    run("report", str(trained), "--figures", str(tmp_path / "pdf"), "--out", str(tmp_path / "page.html"))
    assert {path.suffix for path in (tmp_path / "pdf").iterdir()} == {".pdf"}
    assert (tmp_path / "page.html").exists()


def test_pages_of_runs_are_for_sweeps(trained: Path) -> None:
    ended = CliRunner().invoke(cli, ["report", str(trained), "--runs"])
    assert ended.exit_code and "--runs is for the folder of a sweep" in str(ended.exception) + ended.output


def test_a_reproduced_result_has_a_page(tmp_path: Path) -> None:
    told = run("reproduce", "isa-b3", "--scale", "smoke", "--out", str(tmp_path))
    folder = tmp_path / "smoke" / "isa-b3"
    assert f"report: {folder / 'report.html'}" in told.replace("\n", "")
    page = (folder / "report.html").read_text()
    assert "unweave reproduce isa-b3 --scale smoke" in page
    written = page.encode()
    (folder / "report.html").unlink()
    run("report", str(folder))
    assert (folder / "report.html").read_bytes() == written
    bare = tmp_path / "bare"
    run("reproduce", "isa-b3", "--scale", "smoke", "--out", str(bare), "--no-report")
    assert not list(bare.glob("**/*.html")) and not list(bare.glob("**/*.svg"))
