"""ISA figure 4: trees of nested norms."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.plots import priors as prior_plots
from unweave.priors import LpNestedSymmetric, Tree
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe

Array = NDArray[np.float64]

EXAMPLE: list[Any] = [1, [1, 1]]
"""Eq. 6: z1, and a norm of z2 and z3."""

SUBSPACES = (4, 4, 4, 4, 4)
"""Eq. 9 with the layout of figure 5."""


def subspace_norm(p0: float, p: Sequence[float], sizes: Sequence[int], points: Array) -> Array:
    """Eq. 9 written out: the ``p0``-norm of the ``p_i``-norms of consecutive parts of points ``(m, n)``.

    Example:
        >>> subspace_norm(1.0, [2.0, 2.0], [2, 1], np.array([[3.0, 4.0, -1.0]])).tolist()
        [6.0]
    """
    ends = np.cumsum(sizes)
    parts = [np.abs(points[:, end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    each = [(part**q).sum(1) ** (p0 / q) for part, q in zip(parts, p, strict=True)]
    norm: Array = np.sum(each, axis=0) ** (1 / p0)
    return norm


@recipe(
    "isa-fig4",
    title="Trees of nested norms: the example of Eq. 6 and the ISA model of Eq. 9",
    claim="Eq. 6 is a tree of a leaf and an inner node of two leaves; an ISA model is a tree of depth two.",
    published="drawings (figure 4)",
)
def figure_4(job: Job) -> Conclusion:
    """Both trees, and the function that the tree of an ISA model computes against Eq. 9 written out."""
    example, model = Tree.parse(EXAMPLE), Tree.parse([[size] for size in SUBSPACES])
    exponents = torch.tensor([2.1, 2.2, 1.9, 1.3, 3.0, 2.0], dtype=torch.float64)
    points = np.random.default_rng(0).standard_normal((1000, sum(SUBSPACES)))
    law = LpNestedSymmetric(model, exponents, torch.ones(()))
    ours = law.log_function(torch.from_numpy(points)).exp().numpy()
    formula = subspace_norm(2.1, exponents.tolist()[1:], SUBSPACES, points)
    rows = [["tree", "leaves", "inner nodes", "depth"]]
    for name, tree in (("Eq. 6", example), ("Eq. 9", model)):
        rows.append([name, str(tree.leaves), str(len(tree.children)), str(len(tree.levels))])
    job.note(
        "Eq. 10 prints the last index of a subspace as a + n_i, which is one too many: it is a + n_i - 1 here."
    )
    return Conclusion(
        rows=rows,
        pictures={
            "example": prior_plots.norm_tree(example.children, [1.0, 2.0]),
            "isa": prior_plots.norm_tree(model.children, [2.1, *[2.2] * len(SUBSPACES)]),
        },
        findings=[
            equal("depth of the tree of an ISA model", float(len(model.levels)), 2.0, constructed=True),
            equal(
                "largest relative difference of its function from Eq. 9 written out",
                float(np.abs(ours / formula - 1).max()),
                0.0,
                within=1e-9,
                constructed=True,
            ),
        ],
    )
