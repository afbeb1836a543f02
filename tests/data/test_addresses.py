"""Every original file says where it is published."""

from unweave.data import DATASETS
from unweave.data.catalogue import catalogue, where_to_get
from unweave.data.files import ADDRESSES


def test_every_origin_has_an_address_and_every_address_an_origin() -> None:
    origins = {file.origin for name in DATASETS for file in DATASETS[name].originals}
    assert origins == ADDRESSES.keys()
    assert all(address.startswith(("https://", "http://")) for address in ADDRESSES.values())


def test_the_list_of_missing_files_names_the_address() -> None:
    told = "\n".join(where_to_get(catalogue()))
    for entry in catalogue():
        if entry.missing:
            assert f"of {entry.missing[0].origin}, {entry.missing[0].address}\n" in told
