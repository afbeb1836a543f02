"""What tests of several folders share."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def few_images() -> Iterator[None]:
    """Inside, a run is scored by 500 of its images instead of 10,000, for tests that ask for no number of a score."""
    from unweave.runs import evaluation

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "SAMPLES", 500)
        yield
