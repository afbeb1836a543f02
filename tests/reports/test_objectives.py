import re
import shlex
from pathlib import Path

from unweave.cli.target import split_target
from unweave.gan import GANS
from unweave.objectives import OBJECTIVES
from unweave.pairing import PAIRINGS
from unweave.reports.objectives import command, forms, objectives_page
from unweave.runs import Config

PAGE = Path(__file__).parent.parent.parent / "docs" / "objectives.md"


def test_the_page_is_up_to_date() -> None:
    """If not: unweave objectives --out docs/objectives.md."""
    assert PAGE.read_text() == objectives_page()


def test_every_row_of_the_inventory_is_there() -> None:
    assert {form.row for form in forms()} == {f"OBJ-{i}" for i in range(1, 17)}


def test_every_objective_pairing_and_gan_has_a_row() -> None:
    for part in (*OBJECTIVES.values(), *GANS.values(), *[p for n, p in PAIRINGS.items() if n != "none"]):
        assert part.forms, part


def test_every_command_is_a_config() -> None:
    for form in forms():
        words = shlex.split(command(form))
        assert words[:2] == ["unweave", "train"]
        config = Config.read(*split_target(words[2], words[3:]))
        assert config == Config.of(config.to_mapping())
        model = config.make_model((1, 28, 28) if words[2] == "mnist" else (1, 64, 64))
        config.make_objective(model).check(model)  # type: ignore[arg-type]


def test_the_table_has_four_columns_throughout() -> None:
    lines = [line for line in objectives_page().splitlines() if line.startswith("| OBJ")]
    for line in lines:
        assert len(re.split(r"(?<!\\)\|", line)) == 6, line
