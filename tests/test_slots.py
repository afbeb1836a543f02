from typing import Literal

import pytest

from unweave.errors import UnweaveError, plain, unknown
from unweave.slots import Choice, build, choose, convert


class Wide:
    def __init__(
        self,
        latents: int,
        *,
        depth: int = 3,
        rate: float = 0.5,
        mode: Literal["one_sided", "both"] = "both",
        channels: tuple[int, ...] = (64, 64),
        limit: int | None = None,
        shuffle: bool = False,
    ) -> None:
        self.values = (latents, depth, rate, mode, channels, limit, shuffle)


TABLE = {"WideNet": Wide}


def test_defaults_are_filled_in_and_given_values_converted() -> None:
    choice = choose(
        "decoder", TABLE, {"name": "wide-net", "depth": "4", "mode": "One-Sided", "channels": [8]}
    )
    assert choice.name == "WideNet"
    expected = {
        "depth": 4,
        "rate": 0.5,
        "mode": "one_sided",
        "channels": (8,),
        "limit": None,
        "shuffle": False,
    }
    assert choice.options == expected
    assert build("decoder", TABLE, choice, 10).values == (10, 4, 0.5, "one_sided", (8,), None, False)


def test_a_choice_survives_its_config() -> None:
    choice = choose("decoder", TABLE, {"name": "WideNet", "limit": 7, "shuffle": "yes"})
    assert choose("decoder", TABLE, choice.to_config()) == choice
    assert choice.to_config()["channels"] == [64, 64]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("WideNot", "unknown decoder 'WideNot': did you mean WideNet?"),
        ({"name": "WideNet", "dept": 2}, "unknown option of decoder WideNet 'dept': did you mean depth?"),
        ({"name": "WideNet", "depth": 2.5}, "decoder.depth must be a whole number, got 2.5"),
        ({"name": "WideNet", "depth": True}, "decoder.depth must be a whole number, got True"),
        ({"name": "WideNet", "rate": "nan"}, "decoder.rate must be a number, got 'nan'"),
        ({"name": "WideNet", "mode": "three"}, "decoder.mode must be one of one_sided, both, got 'three'"),
        ({"name": "WideNet", "channels": 5}, "decoder.channels must be a list of whole numbers, got 5"),
        ({"name": "WideNet", "shuffle": 3}, "decoder.shuffle must be true or false, got 3"),
        ({"depth": 2}, "decoder must be a name or a mapping with a 'name'"),
        (7, "decoder must be a name or a mapping with a 'name'"),
    ],
)
def test_mistakes_are_told(value: object, message: str) -> None:
    with pytest.raises(UnweaveError, match="^" + message.replace("?", r"\?").replace(".", r"\.")):
        choose("decoder", TABLE, value)  # type: ignore[arg-type]


def test_convert_keeps_large_whole_numbers() -> None:
    assert convert("seed", 2**60 + 1, int) == 2**60 + 1


def test_names_are_compared_without_case_hyphen_underscore() -> None:
    assert plain("Spatial_Broadcast") == plain("spatial-broadcast") == "spatialbroadcast"


def test_unknown_lists_what_there_is_even_without_a_near_name() -> None:
    assert str(unknown("prior", "xyz", ["B", "A"])) == "unknown prior 'xyz': (there are: A, B)"


def test_choices_with_equal_content_are_equal() -> None:
    assert Choice("A", {"b": 1}) == Choice("A", {"b": 1}) != Choice("A", {"b": 2})
