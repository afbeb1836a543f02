"""What a page keeps as letters, read as a browser reads it."""

import re
import zlib
from pathlib import Path

import numpy as np


def text_of(path: Path) -> str:
    """The text of a page, which its mark says is written in UTF-16."""
    content = path.read_bytes()
    assert content.startswith(b"\xff\xfe")
    return content.decode("utf-16")


def kept_in(path: Path, name: str) -> bytes:
    """What a page keeps under a name, as it was before it was sorted and deflated."""
    found = re.search(rf'id="{name}" data-stride="(\d)" data-bytes="(\d+)">([^<]*)</script>', text_of(path))
    assert found
    stride, count, letters = int(found[1]), int(found[2]), found[3]
    plain = re.sub("\ue000(.)", lambda flipped: chr(ord(flipped[1]) ^ 0x8000), letters, flags=re.DOTALL)
    sorted_bytes = np.frombuffer(
        zlib.decompress(plain.encode("utf-16-le", "surrogatepass")[:count]), np.uint8
    )
    even = len(sorted_bytes) // stride * stride
    return sorted_bytes[:even].reshape(stride, -1).T.tobytes() + sorted_bytes[even:].tobytes()
