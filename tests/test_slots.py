import hashlib
import os
import sys
import types
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Literal

import pytest

from unweave.errors import UnweaveError, plain, unknown
from unweave.slots import Choice, Slot, convert


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


SLOT: Slot[Wide] = Slot("decoder", "unweave.test_decoders", Wide, {"WideNet": Wide})


def test_defaults_are_filled_in_and_given_values_converted() -> None:
    choice = SLOT.choose({"name": "wide-net", "depth": "4", "mode": "One-Sided", "channels": [8]})
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
    assert SLOT.build(choice, latents=10).values == (10, 4, 0.5, "one_sided", (8,), None, False)


def test_a_choice_survives_its_config() -> None:
    choice = SLOT.choose({"name": "WideNet", "limit": 7, "shuffle": "yes"})
    assert SLOT.choose(choice.to_config()) == choice
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
        SLOT.choose(value)


def test_convert_keeps_large_whole_numbers() -> None:
    assert convert("seed", 2**60 + 1, int) == 2**60 + 1


def test_names_are_compared_without_case_hyphen_underscore() -> None:
    assert plain("Spatial_Broadcast") == plain("spatial-broadcast") == "spatialbroadcast"


def test_unknown_lists_what_there_is_even_without_a_near_name() -> None:
    assert str(unknown("prior", "xyz", ["B", "A"])) == "unknown prior 'xyz' (there are: A, B)"


def test_choices_with_equal_content_are_equal() -> None:
    assert Choice("A", {"b": 1}) == Choice("A", {"b": 1}) != Choice("A", {"b": 2})


# Parts from outside ---------------------------------------------------------------------------------------------------

NARROW = """
from tests_base import Wide


class Narrow(Wide):
    def __init__(self, latents: int, *, depth: int = 2) -> None:
        super().__init__(latents, depth=depth)
        self.depth = depth


def not_a_class():
    pass


class Unrelated:
    pass
"""


@pytest.fixture
def narrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of a stranger's in the current folder, whose base class this test module lends it."""
    lent = types.ModuleType("tests_base")
    lent.Wide = Wide  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tests_base", lent)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    name = f"narrow_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(NARROW)
    return tmp_path / f"{name}.py"


def test_a_module_of_the_current_folder_a_file_a_class_and_an_instance_make_the_same(narrow: Path) -> None:
    by_module = SLOT.choose({"name": f"{narrow.stem}:Narrow", "depth": "5"})
    by_file = SLOT.choose({"name": f"./{narrow.name}:Narrow", "depth": 5})
    part = SLOT.find(by_module.name)[1]
    by_class = SLOT.choose({"name": part, "depth": 5})
    by_instance = SLOT.choose(part(7, depth=5))
    for choice in (by_module, by_file, by_class, by_instance):
        assert choice.options == {"depth": 5}
        assert choice.label == "Narrow"
        assert choice.code is not None
        assert choice.code.sha256 == hashlib.sha256(narrow.read_bytes()).hexdigest()
        made = SLOT.build(choice, latents=3)
        assert made.values[:2] == (3, 5)
    assert by_file.name == f"{narrow}:Narrow"  # means the same from every folder
    assert by_module == by_class == by_instance
    instance = part(7, depth=5)
    assert SLOT.make(instance, latents=3) is instance


def test_a_recorded_part_is_not_imported_before_it_is_built(narrow: Path) -> None:
    recorded = SLOT.choose(f"./{narrow.name}:Narrow").to_config()
    narrow.write_text("raise RuntimeError('imported')")
    choice = SLOT.choose(recorded)
    assert choice.to_config() == recorded
    with pytest.raises(
        UnweaveError, match=r"the decoder Narrow comes from .* and is missing .*imported.*can be read"
    ):
        SLOT.build(choice, latents=3)


def test_a_recorded_module_is_found_from_another_folder(
    narrow: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = SLOT.choose(f"{narrow.stem}:Narrow").to_config()
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    monkeypatch.delitem(sys.modules, narrow.stem)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder != str(narrow.parent)])
    assert SLOT.build(SLOT.choose(recorded), latents=4).values[0] == 4


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "no_such_module:Narrow",
            "no_such_module:Narrow cannot be loaded: there is no module no_such_module",
        ),
        ("./nowhere.py:Narrow", r"./nowhere.py:Narrow cannot be loaded: there is no file .*nowhere.py"),
        ("{stem}:Wider", "{stem}:Wider cannot be loaded: {stem} has no 'Wider'"),
        (
            "{stem}:not_a_class",
            "decoder {stem}:not_a_class must be a class that inherits from .*Wide, got a function",
        ),
        (
            "{stem}:Unrelated",
            "decoder .*Unrelated must be a class that inherits from .*Wide, got a class of another",
        ),
        ("subprocess:Popen", "decoder subprocess:Popen must be a class that inherits from .*Wide"),
    ],
)
def test_a_wrong_reference_is_one_sentence(narrow: Path, name: str, message: str) -> None:
    with pytest.raises(UnweaveError, match="^" + message.format(stem=narrow.stem)):
        SLOT.choose(name.format(stem=narrow.stem))


def test_broken_code_is_one_sentence(narrow: Path) -> None:
    broken = narrow.with_name("broken.py")
    broken.write_text("import no_such_library")
    with pytest.raises(UnweaveError, match=r"cannot be loaded: No module named 'no_such_library'$"):
        SLOT.choose("./broken.py:Part")
    broken.write_text("def f(:")
    with pytest.raises(UnweaveError, match="cannot be loaded: SyntaxError: "):
        SLOT.choose("./broken.py:Part")


def test_an_edited_file_is_another_part(narrow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = SLOT.choose(f"./{narrow.name}:Narrow")
    times = narrow.stat().st_atime_ns, narrow.stat().st_mtime_ns
    narrow.write_text(NARROW.replace("depth: int = 2", "depth: int = 9"))
    os.utime(narrow, ns=times)  # an edit within the same moment, of the same length
    after = SLOT.choose(f"./{narrow.name}:Narrow")
    assert (before.options["depth"], after.options["depth"]) == (2, 9)
    assert before.code != after.code


class Forgetful(Wide):
    def __init__(self, latents: int, *, depth: int = 3) -> None:
        super().__init__(latents)


def test_an_instance_from_outside_that_forgets_its_options_cannot_be_recorded() -> None:
    with pytest.raises(
        UnweaveError, match="cannot be recorded as an instance: it does not keep its option 'depth'"
    ):
        SLOT.choose(Forgetful(3, depth=7))


def test_an_instance_of_our_own_parts_remembers_what_it_was_made_with() -> None:
    assert SLOT.choose(Wide(3, depth=8)) == SLOT.choose({"name": "WideNet", "depth": 8})


def test_parts_of_installed_packages_stand_beside_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("narrow_package")
    package.Wide = Wide  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "narrow_package", package)
    points = {
        "Narrow": EntryPoint("Narrow", "narrow_package:Wide", "unweave.test_decoders"),
        "Broken": EntryPoint("Broken", "no_such_module:Part", "unweave.test_decoders"),
    }
    monkeypatch.setattr("unweave.slots.entry_points_of", lambda group: points)
    assert list(SLOT) == ["WideNet", "Narrow", "Broken"]
    assert SLOT.find("narrow") == ("Narrow", Wide)
    assert SLOT.make("Narrow", latents=2).values[0] == 2
    assert [name for name, _ in SLOT.loadable()] == ["WideNet", "Narrow"]
    with pytest.raises(UnweaveError, match="did you mean Narrow"):
        SLOT.choose("Narow")
    with pytest.raises(UnweaveError, match="Broken of an installed package cannot be loaded"):
        SLOT.choose("Broken")


class Base:
    def __init__(self, latents: int, *, depth: int = 3, width: float = 1.5) -> None:
        self.depth, self.width = depth, width


class Derived(Base):
    def __init__(self, latents: int, *, more: int = 1, width: float = 2.5, **inherited: Any) -> None:
        super().__init__(latents, width=width, **inherited)
        self.more = more


def test_a_part_that_hands_options_on_has_those_of_its_base() -> None:
    slot = Slot("part", "unweave.nothing", Base, {"Derived": Derived})
    chosen = slot.choose({"name": "derived", "depth": "7"})
    assert chosen.options == {"depth": 7, "width": 2.5, "more": 1}
    made = slot.build(chosen, latents=4)
    assert (made.depth, made.width) == (7, 2.5)
    with pytest.raises(UnweaveError, match="option of part Derived"):
        slot.choose({"name": "derived", "height": 7})
