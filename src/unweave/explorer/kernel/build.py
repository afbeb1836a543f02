"""Compile ``kernel.c`` to ``kernel.wasm``: ``make kernel``, or ``python -m unweave.explorer.kernel.build``.

The compiler is Zig's C compiler, which the package ``ziglang`` carries for every platform; it is needed only to change
the kernel. The same source gives the same bytes with the same version of the compiler, :data:`COMPILER`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from unweave.errors import UnweaveError

FOLDER = Path(__file__).parent
SOURCE = FOLDER / "kernel.c"
BUILT = FOLDER / "kernel.wasm"

COMPILER = "0.17.0"
"""The version of ``ziglang`` that made the committed file."""

_OPTIONS = (
    *("-target", "wasm32-freestanding", "-mcpu=generic+simd128+bulk_memory", "-O3", "-std=c11"),
    *("-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fno-builtin", "-nostdlib"),
    *("-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=65536"),
    *("-Wl,--export=__heap_base",),
)


def compiled() -> bytes:
    r"""The WebAssembly module of ``kernel.c``.

    Example:
        >>> compiled()[:4]  # doctest: +SKIP
        b'\x00asm'
    """
    with tempfile.TemporaryDirectory() as place:
        made = Path(place) / "kernel.wasm"
        # In the folder of the source, by its bare name: no path of this machine can enter the file.
        command = [sys.executable, "-m", "ziglang", "cc", *_OPTIONS, SOURCE.name, "-o", str(made)]
        try:
            done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
        except OSError as error:
            raise UnweaveError(f"the compiler could not be started: {error}") from None
        if done.returncode:
            raise UnweaveError(f"kernel.c was not compiled (is ziglang installed?): {done.stderr.strip()}")
        return made.read_bytes()


if __name__ == "__main__":
    BUILT.write_bytes(compiled())
    print(f"{BUILT}: {BUILT.stat().st_size:,} bytes")
