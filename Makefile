# Everything sets itself up: `make demo`, `make test` on a fresh machine.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo check test tests test-slow slurm-test trackers-test coverage licences torture benchmarks kernel browser docs matrix clean

demo: $(READY)  ## two VAEs side by side, a page about both and one to touch them, in a few minutes
	$(BIN)/unweave demo

check: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Tests of pages skip where there is no browser; root on a Debian-like system gets one, quietly.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && apt-get install -qq -y chromium fonts-dejavu-core >/dev/null 2>&1; } || true

test: $(READY) browser  ## style, types and all tests except the slow ones; style and types beside the tests
	@$(MAKE) --no-print-directory -j2 tests check

tests: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal -m "not slow"

test-slow: $(READY) browser  ## the tests that take minutes
	OMP_NUM_THREADS=1 $(BIN)/pytest -m slow

slurm-test: $(READY)  ## a sweep on a real SLURM on this machine: Debian's packages, no service of the system
	tests/slurm/cluster.sh install
	OMP_NUM_THREADS=1 $(BIN)/pytest -m slow tests/slurm

# MLflow alone is half a gigabyte, so it has an environment of its own. The last wandb with a reader in Python reads
# back what the present one wrote.
TRACKERS ?= .trackers
trackers-test: $(READY)  ## the tests that need MLflow, Weights & Biases and pandas, against the real packages
	test -x $(TRACKERS)/bin/python || $(BIN)/python -m venv $(TRACKERS)
	$(TRACKERS)/bin/pip install -q -c constraints.txt -e '.[parquet,search,trackers]' pytest pytest-timeout tensorboard
	$(TRACKERS)/bin/pip install -q mlflow wandb pandas
	$(TRACKERS)/bin/pip install -q --no-deps --upgrade --target $(TRACKERS)/reader wandb==0.23.1
	OMP_NUM_THREADS=1 UNWEAVE_WANDB_READER=$(abspath $(TRACKERS))/reader/wandb/sdk/internal/datastore.py \
	  $(TRACKERS)/bin/python -m pytest tests/tracking tests/runs/test_tables.py

coverage: $(READY)  ## which lines the tests reach; a page in htmlcov/
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal -m "not slow" --cov --cov-report=html --cov-report=term:skip-covered

licences: $(READY)  ## the licence of everything that is installed
	$(BIN)/python docs/make_dependencies.py --licences

torture: $(READY)  ## kills, damaged files, full disks and strange inputs by the thousand; can be stopped and resumed
	$(BIN)/python tests/faults/torture.py --folder torture

benchmarks: $(READY)  ## ratios, measured on an otherwise idle machine
	$(BIN)/python benchmarks/training_speed.py
	$(BIN)/python benchmarks/metrics.py --dsprites
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/encode.py
	$(BIN)/python benchmarks/encode.py --onnx
	$(BIN)/python benchmarks/tracking.py

kernel: $(READY)  ## compile the explorer's kernel.c to kernel.wasm, which is committed
	$(BIN)/python -m unweave.explorer.kernel.build

docs: $(READY)  ## the site, in docs/_build/html: no warning, no dead link; tutorials are executed, and kept
	test -x $(BIN)/sphinx-build || $(BIN)/pip install -q -c constraints.txt -e '.[all,docs]'
	$(BIN)/python docs/site/build.py

matrix: $(READY)  ## the wheel and the source archive, in clean environments of every Python that is here
	$(BIN)/python tests/packaging/matrix.py --folder dist/matrix

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt -e '.[all,dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
