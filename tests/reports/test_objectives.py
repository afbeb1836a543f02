import re
import shlex
from pathlib import Path

import pytest

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


EQUATIONS = {
    *(
        "FAC section 2",
        "FAC section 2, ISA section 2.1",
        "Burgess et al. 2018 Eq. 8",
        "FAC Eq. 2",
        "FAC Eq. 12",
    ),
    *("FAC Eq. 7", "ISA Eq. 3; Chen et al. 2018 (weighted", "ISA Eq. 3; Chen et al. 2018 (stratified"),
    *("FAC appendix D", "FAC Eq. 10", "FAC Eq. 11", "FAC Eq. 8", "FAC Eq. 9", "DEC Eq. 7 and appendix B"),
    *("DEC Eq. 7 and section 6.3", "DEC Eq. 5", "ISA section 3.2, Eq. 12", "REC section 5.2, Eq. 14"),
    *(
        "REC appendix B.2",
        "Locatello et al. 2020",
        "FAC Eq. 13-15",
        "FAC Eq. 13, 14, 16",
        "FAC section 6, table 5",
    ),
}


@pytest.mark.parametrize("equation", sorted(EQUATIONS))
def test_every_equation_of_the_papers_is_in_the_table(equation: str) -> None:
    assert any(form.reference.startswith(equation) for _, form in forms())


def test_the_isa_prior_is_used_with_two_objectives() -> None:
    assert [name for name, form in forms() if form.reference == "ISA section 3.2, Eq. 12"] == [
        "BetaVAE",
        "BetaTCVAE",
    ]


def test_every_objective_pairing_and_gan_has_a_line() -> None:
    for part in (*OBJECTIVES.values(), *GANS.values(), *[p for n, p in PAIRINGS.items() if n != "none"]):
        assert part.forms, part


def test_every_command_is_a_config() -> None:
    for _, form in forms():
        words = shlex.split(command(form))
        assert words[:2] == ["unweave", "train"]
        config = Config.read(*split_target(words[2], words[3:]))
        assert config == Config.of(config.to_mapping())
        model = config.make_model((1, 28, 28) if words[2] == "mnist" else (1, 64, 64))
        config.make_objective(model).check(model)  # type: ignore[arg-type]


def test_the_table_has_four_columns_throughout() -> None:
    names = {name for name, _ in forms()}
    lines = [line for line in objectives_page().splitlines() if line[2:].partition(" ")[0] in names]
    assert len(lines) == len(list(forms()))
    for line in lines:
        assert len(re.split(r"(?<!\\)\|", line)) == 6, line
