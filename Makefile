# Two targets matter: `make run` does the main job on real problems, `make test` passes the tests.
# Both set up .venv by themselves and need nothing but Linux and Python 3.12 or newer.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# The first working Python >= 3.12: 3.13 first (what the Docker images have), on PATH, then pyenv, then uv.
define FIND_PYTHON
ok() { "$$1" -c 'import sys, venv; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1; }; \
for candidate in "$$PYTHON" python3.13 python3.12 python3.14 python3 \
    "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.13*/bin/python "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python; do \
  if [ -n "$$candidate" ] && ok "$$candidate"; then "$$candidate" -c 'import sys; print(sys.executable)'; exit 0; fi; \
done; \
uv python find '>=3.12' 2>/dev/null && exit 0; \
echo 'pbtbench needs Python 3.12 or newer: install python3.13 (or 3.12) with its venv module, or uv, and run make again.' >&2; exit 1
endef
export FIND_PYTHON

# The problems that `make run` takes: all of them while they are few.
PROBLEMS ?=
# One seed, to be quick: `pbtbench run` itself takes three.
RUN_FLAGS ?= --seeds 1 $(foreach id,$(PROBLEMS),-p $(id))

.PHONY: run test lint format setup lock bench clean

run: $(READY)
	$(BIN)/pbtbench run --agent ghostwriter --agent reference --mode pbt --sandbox local $(RUN_FLAGS)

test: $(READY)
	$(BIN)/python -m pytest -n auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python benchmarks/judge.py

setup: $(READY)

# A stamp, so that a second `make run` starts at once. uv when it works here, plain venv and pip otherwise.
$(READY): requirements.txt pyproject.toml
	@set -e; python=$$(sh -c "$$FIND_PYTHON"); echo "setting up $(VENV) with $$python"; \
	unset PYTHONDONTWRITEBYTECODE; \
	if uv --version >/dev/null 2>&1; then \
	  uv venv --quiet --clear --python "$$python" $(VENV); \
	  uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r requirements.txt; \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .; \
	else \
	  "$$python" -m venv --clear $(VENV); \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	fi
	@touch $@

# Export the pinned, hashed requirements again (needs uv). No index line may enter the file.
lock:
	uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url --no-header \
	  --group dev -o requirements.txt pyproject.toml

clean:
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache
