"""Bytes as the letters of a page that is written in UTF-16: two bytes a letter.

Base64 takes eight letters of one byte each for six bytes, and a page in UTF-8 has no way to hold compressed bytes in
less than 1.12 times their size. In UTF-16 nearly every pair of bytes is a letter. The mark at the file's beginning says
how it is written, and browsers believe it more than what a server says.
"""

import codecs

import numpy as np

ESCAPE = 0xE000
"""Stands before a letter that is flipped: one that HTML or UTF-16 would not leave as it is."""

FLIP = 0x8000


def letters_of(content: bytes) -> str:
    """Bytes as letters, the low byte of each first; an odd one is followed by a zero.

    Example:
        >>> [hex(ord(letter)) for letter in letters_of(b"ab<" + bytes(1) + b"z")]
        ['0x6261', '0xe000', '0x803c', '0x7a']
    """
    units = np.frombuffer(content + bytes(len(content) % 2), "<u2")
    escaped = np.isin(units, (0, 0x0D, 0x3C, ESCAPE, 0xFEFF, 0xFFFE, 0xFFFF)) | (units >> 11 == 0x1B)
    places = np.arange(len(units)) + np.cumsum(escaped)
    letters = np.full(len(units) + int(escaped.sum()), ESCAPE, "<u2")
    letters[places] = np.where(escaped, units ^ FLIP, units)
    return letters.tobytes().decode("utf-16-le")


def file_of(text: str) -> bytes:
    """The bytes of a page that has such letters.

    Example:
        >>> list(file_of("a"))
        [255, 254, 97, 0]
    """
    return codecs.BOM_UTF16_LE + text.encode("utf-16-le")
