"""REC figure 8: perceived distances of XYSquares at spacings 8 to 1."""

import numpy as np

from unweave.data import XYSquares
from unweave.metrics import distance_matrices
from unweave.plots.distances import matrix_panels
from unweave.recipes.claims import correlated, equal
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "rec-fig8",
    title="XYSquares: perceived distances at spacings 8 to 1",
    claim="Squares closer together overlap more, and perceived distances correspond better to true ones; at spacing 8 "
    "they are constant.",
    published="pictures only (figure 8); constant distance C at spacing 8 (section 5.1)",
    data=lambda: [{"name": "XYSquares"}],
)
def figure_8(job: Job) -> Conclusion:
    """The matrix of true distances and, for each spacing, that of perceived ones."""
    rng = np.random.default_rng(0)
    spacings = list(range(8, 0, -1))
    found = [distance_matrices(XYSquares(spacing=s), "x_r", rng, traversals=2) for s in spacings]
    fits = [round(one.correlations()["observations"], 9) for one in found]
    off_diagonal = ~np.eye(8, dtype=bool)
    perceived = [one.levels["observations"][off_diagonal] for one in found]
    rows = [["spacing", "different distances", "smallest", "largest", "correlation with true distance"]]
    panels = [("factors", found[0].levels["factors"] * float(perceived[0].max()) / 7)]
    for spacing, one, values, fit in zip(spacings, found, perceived, fits, strict=True):
        different = str(len(np.unique(values.round(9))))
        span = [f"{values.min():.4f}", f"{values.max():.4f}"]
        rows.append([f"{spacing} px", different, *span, f"{fit:.3f}"])
        panels.append((f"{spacing} px\nr = {fit:.2f}", one.levels["observations"]))
    order = "rank correlation of spacing with (correlation of perceived and true distance)"
    constant = "distances along a factor at spacing 8 differ by"
    return Conclusion(
        rows,
        [
            correlated(order, spacings, fits, sign=-1),
            equal(constant, float(np.ptp(perceived[0])), 0.0, within=1e-9, constructed=True),
        ],
        {"matrices": matrix_panels([panels], shared=True)},
    )
