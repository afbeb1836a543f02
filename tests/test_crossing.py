"""Objective x prior x decoder x likelihood x pairing: every cell trains, or is refused before the first step.

Everything is read from the tables, so a new part joins the crossing by being in its table.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from unweave.data import Arrays
from unweave.errors import UnweaveError
from unweave.likelihoods import LIKELIHOODS
from unweave.networks import DECODERS
from unweave.objectives import OBJECTIVES
from unweave.pairing import PAIRINGS
from unweave.priors import PRIORS
from unweave.runs import Config
from unweave.slots import accepted, options_of, type_hints
from unweave.training import train
from unweave.vae import VAE

SHAPE = (1, 8, 8)
LATENTS = 4
Part = tuple[str, dict[str, Any]]
Cell = tuple[Part, ...]

SMALL: dict[str, Any] = {
    **{"critic_layers": 1, "critic_width": 8, "hidden": (8,), "channels": (4, 4), "mlp": (), "depth": 2},
    **{"width": 4, "features": 4},
}


def small(part: type, options: dict[str, Any]) -> dict[str, Any]:
    """The options with everything that makes a part large made small."""
    hints = type_hints(part)
    tiny = {}
    for name in options_of(part):
        if name in SMALL and isinstance(SMALL[name], tuple) == ("tuple" in str(hints[name])):
            tiny[name] = SMALL[name]
    return {**options, **tiny}


def objectives() -> list[Part]:
    """The forms of every objective, those apart that differ in more than the size of a weight."""
    found: dict[str, Part] = {}
    for name, part in OBJECTIVES.items():
        hints = type_hints(part)
        for form in part.forms:
            chosen = Config.read(words=["data=circles", *form.words.split()]).objective
            kind = {k: v for k, v in chosen.options.items() if hints[k] is not float}
            weights = {k: v > 0 for k, v in chosen.options.items() if hints[k] is float}
            found.setdefault(f"{name}{kind}{weights}", (name, small(part, dict(chosen.options))))
    return list(found.values())


def priors() -> Iterator[Part]:
    for name, part in PRIORS.items():
        yield name, {}
        if "learned" in options_of(part):
            yield name, {"learned": True}


def likelihoods() -> Iterator[Part]:
    for name, part in LIKELIHOODS.items():
        yield name, {}
        yield name, {"blur": "box", "blur_radius": 2}
        if "learned" in options_of(part):
            yield name, {"learned": True, "blur": "gaussian", "blur_radius": 1}


AXES: dict[str, list[Part]] = {
    "objective": objectives(),
    "prior": list(priors()),
    "decoder": [(name, small(part, {})) for name, part in DECODERS.items()],
    "likelihood": list(likelihoods()),
    "pairing": [(name, {}) for name in PAIRINGS],
}
TABLES = {
    "objective": OBJECTIVES,
    "prior": PRIORS,
    "decoder": DECODERS,
    "likelihood": LIKELIHOODS,
    "pairing": PAIRINGS,
}


def data() -> Arrays:
    rng = np.random.default_rng(0)
    factors = np.stack(np.meshgrid(range(3), range(4), indexing="ij"), -1).reshape(-1, 2)
    return Arrays.from_arrays(rng.random((12, 8, 8)).astype(np.float32), factors)


def outcome(cell: Cell, dataset: Arrays) -> str:
    """ "trained" or "refused"; anything else is an error of this test."""
    chosen = dict(zip(AXES, cell, strict=True))
    steps: list[int] = []

    class Counter:
        def show(self, step: int, record: object) -> None:
            steps.append(step)

    def part(slot: str, **context: Any) -> Any:
        name, options = chosen[slot]
        return TABLES[slot].make({"name": name, **options}, **context)

    torch.manual_seed(0)
    try:
        vae = VAE.assemble(
            SHAPE,
            LATENTS,
            encoder={"name": "MLP", "hidden": [8]},
            **{
                slot: {"name": chosen[slot][0], **chosen[slot][1]}
                for slot in ("prior", "decoder", "likelihood")
            },
            pairing=None if chosen["pairing"][0] == "none" else part("pairing"),
        )
        objective = part("objective", latents=LATENTS)
        result = train(vae, objective, dataset, steps=3, batch_size=4, learning_rate=1e-3, display=Counter())
    except UnweaveError as error:
        assert not steps, f"{cell} was refused after step {steps[-1]}: {error}"
        named = [name for name, _ in cell if name in str(error)]
        assert len(named) >= 2, f"{cell}: the error names {named} only: {error}"
        assert "choose" in str(error) or "set" in str(error), f"{cell}: what would work? {error}"
        return "refused"
    assert result.status == "finished", f"{cell}: {result.reason}"
    for name, parameter in [*vae.named_parameters(), *objective.named_parameters()]:
        assert parameter.grad is not None, f"{cell}: {name} got no gradient"
        assert torch.isfinite(parameter.grad).all(), f"{cell}: the gradient of {name} is not finite"
    return "trained"


def pairs_of(cell: Cell) -> Iterator[tuple[int, int, str, str]]:
    for (i, a), (j, b) in itertools.combinations(enumerate(cell), 2):
        yield i, j, repr(a), repr(b)


def covering() -> list[Cell]:
    """Cells in which every two choices of any two axes meet: each time the best of some random cells."""
    rng = np.random.default_rng(0)
    axes = list(AXES.values())
    left = {
        (i, j, repr(a), repr(b))
        for (i, x), (j, y) in itertools.combinations(enumerate(axes), 2)
        for a in x
        for b in y
    }
    cells = []
    while left:
        i, j, a, b = min(left)
        tried = []
        for _ in range(30):
            cell = [axis[rng.integers(len(axis))] for axis in axes]
            cell[i] = next(part for part in axes[i] if repr(part) == a)
            cell[j] = next(part for part in axes[j] if repr(part) == b)
            tried.append(tuple(cell))
        best = max(tried, key=lambda cell: len(left & set(pairs_of(cell))))
        left -= set(pairs_of(best))
        cells.append(best)
    return cells


def crossed(cells: Iterable[Cell]) -> dict[str, int]:
    dataset = data()
    counts = {"trained": 0, "refused": 0}
    for cell in cells:
        counts[outcome(cell, dataset)] += 1
    return counts


def test_every_two_parts_meet_in_a_cell_that_trains_or_is_refused() -> None:
    counts = crossed(covering())
    assert counts["trained"] > 5 * counts["refused"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("index", range(len(AXES["objective"])), ids=lambda i: str(AXES["objective"][i][0]))
def test_every_cell_trains_or_is_refused(index: int) -> None:
    rest = [parts for slot, parts in AXES.items() if slot != "objective"]
    counts = crossed((AXES["objective"][index], *cell) for cell in itertools.product(*rest))
    assert counts["trained"] > counts["refused"]


@pytest.mark.parametrize(
    ("objective", "prior", "message"),
    [
        (
            ("BetaTCVAE", {"gamma": 2.0}),
            ("ISA", {}),
            r"BetaTCVAE with gamma = 2 weighs .* ISA does not factorise .* set objective\.gamma=1, or choose a prior",
        ),
        (
            ("InformationDropout", {}),
            ("AnisotropicNormal", {"learned": True}),
            r"InformationDropout does not train the prior, but AnisotropicNormal .* choose a prior without",
        ),
    ],
)
def test_refusals_name_both_parts_and_what_works(objective: Part, prior: Part, message: str) -> None:
    vae = VAE.assemble(SHAPE, LATENTS, prior={"name": prior[0], **prior[1]})
    part = OBJECTIVES[objective[0]]
    with pytest.raises(UnweaveError, match=message):
        train(vae, part(**accepted(part, latents=LATENTS), **objective[1]), data(), steps=1, batch_size=4)
