"""REC figure 5: factor traversals of XYSquares."""

import numpy as np

from unweave.data import XYSquares
from unweave.metrics.distances import mse
from unweave.plots.images import image_grid
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "rec-fig5",
    title="Factor traversals of XYSquares",
    claim="Pixel-wise losses measure constant values along the traversals of XYSquares.",
    published="pictures (figure 5); three squares of 8 x 8 on a grid of 8 x 8, 8^6 = 262,144 images (section 5.1)",
    data=lambda: [{"name": "XYSquares"}],
)
def figure_5(job: Job) -> Conclusion:
    """A column of images for each factor; the distances between all pairs of a column."""
    squares = XYSquares()
    space = squares.factor_space()
    start = np.full(len(space), 3)
    rows = [["factor", "values", "smallest distance", "largest"]]
    columns, spread = [], 0.0
    for factor in space.names:
        images = squares.images(space.traversal(factor, start)) / np.float32(255)
        one, two = np.triu_indices(len(images), 1)
        distances = mse(images[one], images[two])
        spread = max(spread, float(np.ptp(distances)))
        rows.append([factor, str(len(images)), f"{distances.min():.6f}", f"{distances.max():.6f}"])
        columns.append(images)
    sheet = np.swapaxes(np.stack(columns), 0, 1)
    return Conclusion(
        rows,
        [
            equal("distances along a traversal differ by", spread, 0.0, within=1e-9, constructed=True),
            equal("images", float(squares.count or 0), 8**6, constructed=True),
            equal(
                "share of white in a channel of an image",
                float(sheet[0, 0, 0].mean()),
                1 / 64,
                within=1e-9,
                constructed=True,
            ),
        ],
        {
            "traversals": image_grid(
                sheet.reshape(-1, *sheet.shape[2:]),
                columns=len(columns),
                title=f"XYSquares: {', '.join(space.names)}",
            )
        },
    )
