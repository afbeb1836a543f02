"""The HTML file: the page's own scripts and style, the kernel, facts and weights in one text that asks for nothing."""

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.explorer.letters import letters_of

SCRIPTS = ("pictures.js", "models.js", "widgets.js", "link.js", "explorer.js")
"""In the order in which they are run, after the engine; all share one scope. The loader runs them."""

ENGINE = ("codes.js", "engine.js")
"""What computes with a model, and knows nothing of the page."""


def document(
    facts: Mapping[str, Any],
    weights: Sequence[tuple[bytes, bytes]],
    *,
    sheets: Mapping[str, bytes] | None = None,
    title: str,
    intro: str,
    verdicts: Sequence[tuple[str, str, str]],
    stride: int,
) -> str:
    """The text of the page, to be written by :func:`~unweave.explorer.letters.file_of`.

    Args:
        facts: what the scripts read.
        weights: of the decoder and of the encoder of each model; empty: it has none.
        sheets: names and PNGs of pictures that the page opens after its first one.
        title: of the page.
        intro: a paragraph below it.
        verdicts: kind, label and sentence of each, shown before anything else and without scripts.
        stride: bytes of a weight, by which they are sorted so that they compress.

    Example:
        >>> text = document({"runs": []}, [(b"abcd", b"")], title="A & B", intro="", verdicts=[], stride=2)
        >>> "<title>A &amp; B</title>" in text, "default-src 'none'" in text, "http:" in text or "https:" in text
        (True, True, False)
    """
    style = _read("page/explorer.css")
    loader = _read("page/loader.js")
    own = "\n".join(['(() => {\n"use strict";', *(_read(f"page/{name}") for name in SCRIPTS), "})();"])
    code = f"{engine_source()}\n{own}"
    hashes = " ".join(_hash(script) for script in (loader, code))
    # What the first picture needs stands before the script; while it is drawn, the browser reads on.
    first = _first_blobs(code, facts, [decoder for decoder, _ in weights], stride)
    later = [_blob(name, png, 1) for name, png in (sheets or {}).items()]
    later += [_blob(f"encoder-{i}", encoder, stride) for i, (_, encoder) in enumerate(weights) if encoder]
    policy = (
        f"default-src 'none'; script-src {hashes} 'wasm-unsafe-eval'; style-src {_hash(style)}; "
        f"img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return _filled(
        _read("page/explorer.html"),
        {
            "policy": html.escape(policy, quote=False),
            "title": html.escape(title),
            "intro": f'<p class="lead">{html.escape(intro)}</p>' if intro else "",
            "verdicts": "\n".join(_verdict(*each) for each in verdicts),
            "style": style,
            "first": "\n".join(first),
            "later": "\n".join(later),
            "loader": loader,
            "version": version("unweave"),
        },
    )


def _first_blobs(code: str, facts: Mapping[str, Any], decoders: Sequence[bytes], stride: int) -> list[str]:
    """Script, facts, kernel and decoders: what draws the first picture."""
    known = json.dumps(facts, separators=(",", ":"), allow_nan=False)
    kernel = (files("unweave.explorer") / "kernel/kernel.wasm").read_bytes()
    return [
        _blob("code", code.encode(), 1),
        _blob("facts", known.encode(), 1),
        _blob("kernel", kernel, 1),
        *(_blob(f"weights-{i}", decoder, stride) for i, decoder in enumerate(decoders) if decoder),
    ]


def engine_source() -> str:
    """The script by which a page computes with a model.

    Example:
        >>> "UnweaveEngine" in engine_source()
        True
    """
    return "\n".join(_read(f"page/{name}") for name in ENGINE)


def encoded(array: NDArray[np.float32]) -> str:
    """Numbers of 32 bits, little end first, as base64.

    Example:
        >>> encoded(np.ones(1, np.float32))
        'AACAPw=='
    """
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()


def compressed(content: bytes, stride: int) -> bytes:
    """Bytes sorted by their place in a number of ``stride`` bytes, deflated: the exponents of weights compress well.

    Example:
        >>> zlib.decompress(compressed(b"abcdef", 2))
        b'acebdf'
    """
    whole = np.frombuffer(content, np.uint8)
    even = len(whole) // stride * stride
    sorted_bytes = whole[:even].reshape(-1, stride).T.tobytes() + whole[even:].tobytes()
    return zlib.compress(sorted_bytes, 9)


def _blob(name: str, content: bytes, stride: int) -> str:
    packed = compressed(content, stride)
    about = f'id="{name}" data-stride="{stride}" data-bytes="{len(packed)}"'
    return f'<script type="application/octet-stream" {about}>{letters_of(packed)}</script>'


def _verdict(kind: str, label: str, sentence: str) -> str:
    named = f"<strong>{html.escape(label)}.</strong> " if label else ""
    return f'<p class="health {kind}">{named}{html.escape(sentence)}</p>'


def _hash(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return (files("unweave.explorer") / name).read_text(encoding="utf-8")


def _filled(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{\{ (\w+) \}\}", lambda found: values[found[1]], template)
