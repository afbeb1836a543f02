"""The engine and the kernel, run by node: decoders and encoders of every kind against PyTorch."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from explorer_cases import CASES, Case, cases_json, floats, inputs

from unweave.explorer.document import engine_source
from unweave.explorer.kernel.build import BUILT
from unweave.models import TrainedModel
from unweave.networks import SpatialBroadcast
from unweave.vae import VAE

HERE = Path(__file__).parent
TOLERANCE = {"float32": 1e-5, "float16": 2e-3, "fixed16": 1e-3}

node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engine") / "engine.js"
    path.write_text(engine_source())
    return path


@pytest.fixture(scope="module")
def models() -> dict[str, TrainedModel]:
    return {name: case.model() for name, case in CASES.items()}


def in_node(engine: Path, text: str) -> Any:
    command = ["node", str(HERE / "run_in_node.js"), str(engine), str(BUILT)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found(engine: Path, models: dict[str, TrainedModel]) -> dict[str, Any]:
    return {precision: in_node(engine, cases_json(precision, models)) for precision in TOLERANCE}


@node
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("name", CASES)
def test_the_page_decodes_as_pytorch_does(name: str, precision: str, models: Any, found: Any) -> None:
    model, result = models[name], found[precision][name]
    codes, _ = inputs(model)
    expected = model.decode(codes)
    assert expected.std() > 0.03, "a flat picture shows nothing"
    key = ",".join(str(side) for side in model.image_shape[1:])
    decoded = floats(result["decoded"][key], *expected.shape)
    assert np.abs(decoded - expected).max() < TOLERANCE[precision]
    assert (decoded == floats(result["many"], *expected.shape)).all(), "many at once are the same"
    assert result["grown"] == 0, "memory is allocated by open alone"


@node
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("name", CASES)
def test_the_page_encodes_as_pytorch_does(name: str, precision: str, models: Any, found: Any) -> None:
    model, result = models[name], found[precision][name]
    _, images = inputs(model)
    for expected, key in zip(model.model.codes(images), ("means", "deviations"), strict=True):
        got = floats(result[key], *expected.shape)
        # codes have no fixed range: rounded weights change them in proportion to their size
        scale = 1 if precision == "float32" else max(1, np.abs(expected).max())
        assert np.abs(got - expected).max() < TOLERANCE[precision] * scale, key
        assert len(np.unique(expected)) > 1, "all alike would show nothing"


@node
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("SpatialBroadcast")])
def test_a_broadcast_decoder_answers_at_other_sizes(name: str, models: Any, found: Any) -> None:
    model, result = models[name], found["float32"][name]
    options = dict(model.config.decoder.options)
    sizes = result["sizes"]
    assert sizes[-1] == list(model.image_shape[1:])
    smaller = min(model.image_shape[1:]) >= 64 and not options.get("shuffle_coordinates")
    assert len(sizes) == (2 if smaller else 1)
    for height, width in sizes[:-1]:
        shape = (model.image_shape[0], height, width)
        again = SpatialBroadcast(model.latents, shape, **options)
        weights = model.model.decoder.state_dict()
        again.load_state_dict({**again.state_dict(), **{k: v for k, v in weights.items() if "grid" not in k}})
        codes, _ = inputs(model)
        with torch.no_grad():
            expected = model.model.likelihood(again(torch.from_numpy(codes))).mean.clamp(0, 1).numpy()
        decoded = floats(result["decoded"][f"{height},{width}"], *expected.shape)
        assert np.abs(decoded - expected).max() < 1e-5


@node
def test_sigmoid_and_tanh_are_accurate_where_their_values_are_small_and_large(tmp_path: Path) -> None:
    x = np.concatenate([-np.geomspace(1e-30, 80, 3000), np.geomspace(1e-30, 80, 3000)]).astype(np.float32)
    (tmp_path / "x").write_bytes(x.tobytes())
    (tmp_path / "run.js").write_text(
        """
        const fs = require("node:fs"), kernel = new WebAssembly.Instance(new WebAssembly.Module(
          fs.readFileSync(process.argv[2])), {}).exports;
        const bytes = fs.readFileSync(process.argv[3]), n = bytes.length / 4, at = 1 << 17, out = at + 2 * bytes.length;
        kernel.memory.grow(16);
        const put = () => new Uint8Array(kernel.memory.buffer, at, bytes.length).set(bytes);
        put();
        new Float32Array(kernel.memory.buffer, out, 8).set([1, 0, 0, 0, 0, 0, 0, 0]);
        kernel.image_out(at, 1, n, out, out + 16, 1, out + 32, 1, 1, n);
        const sigmoid = Buffer.from(kernel.memory.buffer.slice(out + 32, out + 32 + 4 * n));
        kernel.tanh_all(at, n);
        fs.writeFileSync(1, Buffer.concat([sigmoid, Buffer.from(kernel.memory.buffer, at, 4 * n)]));
        """
    )
    command = ["node", str(tmp_path / "run.js"), str(BUILT), str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, check=True)
    sigmoid, tanh = np.frombuffer(done.stdout, np.float32).reshape(2, -1)
    exact = x.astype(np.float64)
    assert np.abs(sigmoid * (1 + np.exp(-exact)) - 1).max() < 4e-7
    assert np.abs(tanh / np.tanh(exact) - 1).max() < 4e-7


@node
def test_wrong_input_is_said_in_a_sentence(engine: Path, tmp_path: Path) -> None:
    case = Case("latents=3 encoder.channels=[8,8] decoder.channels=[8,8]", (1, 8, 8))
    model = case.model()
    assert isinstance(model.model, VAE)
    model.model.encoder = torch.nn.Flatten()
    cases = json.loads(cases_json("float32", {"model": model}))
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    (tmp_path / "run.js").write_text(
        """
        const fs = require("node:fs"), [engine, wasm, cases] = process.argv.slice(2);
        require(engine);
        const { description, weights } = JSON.parse(fs.readFileSync(cases)).model;
        const open = (changed) => UnweaveEngine.open(fs.readFileSync(wasm), { ...description, ...changed },
          new Uint8Array(Buffer.from(weights, "base64")));
        const said = (work) => { try { work(); return "nothing"; } catch (error) { return error.message; } };
        (async () => {
          const model = await open({});
          const old = await open({ format: 99 }).catch((error) => error.message);
          console.log(JSON.stringify([model.canEncode, old,
            said(() => model.decode(new Float32Array(2))),
            said(() => model.decode(new Float32Array(3), [16, 16])),
            said(() => model.decode(Float32Array.of(0, NaN, 0))),
            said(() => model.encode(new Float32Array(64)))]));
        })();
        """
    )
    command = ["node", str(tmp_path / "run.js"), str(engine), str(BUILT), str(tmp_path / "cases.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [
        False,
        "the model has format 99, this page reads 1",
        "a code has 3 numbers, got 2",
        "this decoder gives images of 8 x 8, not 16 x 16",
        "a code contains a number that is not finite",
        "this model cannot encode here: encoder Flatten is not one of the built-in networks",
    ]
