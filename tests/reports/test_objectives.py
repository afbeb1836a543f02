import re
import shlex
from pathlib import Path

from unweave.cli import split_target
from unweave.gan import GANS
from unweave.objectives import OBJECTIVES
from unweave.pairing import PAIRINGS
from unweave.reports.objectives import command, forms, objectives_page
from unweave.runs import Config

PAGE = Path(__file__).parent.parent.parent / "docs" / "objectives.md"


def test_the_page_is_up_to_date() -> None:
    """If not: unweave objectives --out docs/objectives.md."""
    assert PAGE.read_text() == objectives_page()


def test_every_form_has_an_equation_a_reference_and_settings_of_its_own() -> None:
    found = list(forms())
    assert all(form.equation and form.reference and form.settings for form in found)
    assert len({form.settings for form in found}) == len(found) >= 23


def test_every_objective_pairing_and_gan_has_a_form() -> None:
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


def test_the_table_has_three_columns_throughout() -> None:
    lines = [line for line in objectives_page().splitlines() if "unweave train" in line and line[0] == "|"]
    assert len(lines) == len(list(forms()))
    for line in lines:
        assert len(re.split(r"(?<!\\)\|", line)) == 5, line
