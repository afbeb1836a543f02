"""The committed kernel is that of its source."""

from importlib import metadata

import pytest

from unweave.explorer.kernel import build


def installed() -> str:
    try:
        return metadata.version("ziglang")
    except metadata.PackageNotFoundError:
        return "none"


@pytest.mark.skipif(installed() != build.COMPILER, reason=f"ziglang {build.COMPILER} is not installed")
def test_the_committed_kernel_is_what_its_source_compiles_to() -> None:
    assert build.compiled() == build.BUILT.read_bytes(), "run `make kernel` and commit kernel.wasm"


def test_the_kernel_is_small_and_imports_nothing() -> None:
    content = build.BUILT.read_bytes()
    assert content[:8] == b"\0asm\1\0\0\0"
    assert len(content) < 40_000
    sections, at = [], 8
    while at < len(content):
        sections.append(content[at])
        size, shift, at = 0, 0, at + 1
        while True:
            byte, at = content[at], at + 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        at += size
    assert 2 not in sections, "section 2 lists imports"
