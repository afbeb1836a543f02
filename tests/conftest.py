"""What tests of several folders share."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def nothing_waits_for_the_disk() -> Iterator[None]:
    """In this process files are not forced to the disk, for which a tenth of the tests' time was spent.

    No test cuts the power; those that kill processes start them, and there everything is as it is for users.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="module")
def few_images() -> Iterator[None]:
    """Inside, a run is scored by 500 of its images instead of 10,000, for tests that ask for no number of a score."""
    from unweave.runs import evaluation

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "SAMPLES", 500)
        yield
