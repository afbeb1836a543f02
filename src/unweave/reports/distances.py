"""The table and the pictures of perceived distances in a data set and in the latent space of a run."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from unweave.data import Dataset
from unweave.metrics import distance_matrices, perceived_distances
from unweave.plots import save
from unweave.plots.distances import cumulative_distances, matrices
from unweave.runs.run import Run


def distance_pictures(
    dataset: Dataset,
    path: Path,
    *,
    loss: str = "mse",
    pairs: int = 50_000,
    run: Path | None = None,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[list[list[str]], list[Path]]:
    """REC table A1 as rows, and two pictures: cumulative distances (figure A1) and distance matrices (figures 3, 4).

    Args:
        dataset: with known factors.
        path: PNG file of the curves; the matrices go to NAME-matrices.png beside it.
        loss: a name of ``unweave.metrics.distances.LOSSES``.
        pairs: number of image pairs for each factor.
        run: folder of a run on the same data; its latent means, posteriors and reconstructions are measured as well.
        seed: of the choice of pairs.
        tell: called with a description of each step.

    Example:
        >>> import tempfile
        >>> from unweave.data import XYSquares
        >>> rows, written = distance_pictures(XYSquares(), Path(tempfile.mkdtemp()) / "d.png", pairs=20)
        >>> rows[0][:2], [path.name for path in written]
        (['factor', 'mean distance'], ['d.png', 'd-matrices.png'])
    """
    rng = np.random.default_rng(seed)
    distances = perceived_distances(dataset, rng, loss=loss, pairs=pairs, tell=tell)
    model = Run(run).model() if run is not None else None
    along_factors = []
    for name, size in zip(dataset.factor_space().names, dataset.factor_space().sizes, strict=True):
        if size != 1:
            tell(f"distance matrices: {name}")
            encode, decode = (model.codes, model.decode_mean) if model is not None else (None, None)
            traversals = 5 if isinstance(size, int) and size > 40 else 20
            along_factors.append(
                distance_matrices(
                    dataset, name, rng, loss=loss, encode=encode, decode=decode, traversals=traversals
                )
            )
    matrix_path = path.with_name(f"{path.stem}-matrices{path.suffix}")
    save(cumulative_distances(distances), path)
    save(matrices(along_factors, title=f"{distances.dataset}, {loss}"), matrix_path)
    return distances.table(), [path, matrix_path]
