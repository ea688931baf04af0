# The environment and what runs in it. Plain sh and GNU make 3.81, which is what macOS has.
SHELL = /bin/sh
VENV = .venv
BIN = $(VENV)/bin
JOBS ?= 3

.PHONY: help run venv dev test long bench team-demo packages lock clean

help:
	@echo 'make run     set everything up and ask a first question'
	@echo 'make venv    just the environment: $(BIN)/brain works after it'
	@echo 'make test    tests, ruff, types, import contracts'
	@echo 'make long    the tests that take more than a few seconds, properties with more examples'
	@echo 'make bench   the figures, each beside its floor'
	@echo 'make team-demo  a PostgreSQL, two members, what each is told, a forgetting'
	@echo 'make packages  the plugins and extensions for agents'\'' stores, in build/packages'
	@echo 'make lock    pin the newest dependencies'
	@echo 'make clean   remove the environment and the caches'
	@echo 'PYTHON=/path/to/python3.12 chooses the interpreter of a new environment.'

run: venv
	@$(BIN)/brain init

venv:
	@sh bin/environment run

dev:
	@sh bin/environment dev

# Everything runs, whatever fails, so that one round shows everything.
CHECK = passed=; failed=; \
	check() { \
	  name=$$1; shift; echo "== $$name"; \
	  if "$$@"; then passed="$$passed $$name"; else failed="$$failed $$name"; fi; \
	}; \
	summary() { echo "== passed:$${passed:- none}; failed:$${failed:- none}"; test -z "$$failed"; }

# The static checks take one core, and many tests wait: both run at the same time.
test: dev
	@mkdir -p build; $(CHECK); \
	{ \
	  check ruff $(BIN)/python -m ruff check; \
	  check format $(BIN)/python -m ruff format --check; \
	  check types $(BIN)/python -m mypy; \
	  check imports $(BIN)/lint-imports; \
	  summary; \
	} > build/static.log 2>&1 & static=$$!; \
	check tests $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m 'not long'; \
	if wait $$static; then passed="$$passed static"; else failed="$$failed static"; fi; \
	cat build/static.log; summary

# Properties with all their examples, and the tests that take more than a few seconds.
long: dev
	@$(CHECK); \
	check long $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m 'long or hypothesis' --hypothesis-profile=thorough; \
	summary

bench: dev
	@$(BIN)/python -m bench

team-demo: dev
	@$(BIN)/python -m bench.team_demo

packages: dev
	@$(BIN)/python packages/build.py

lock: dev
	@test -x build/uv/bin/uv || { $(BIN)/python -m venv build/uv && build/uv/bin/pip install --quiet 'uv>=0.13,<1'; }
	@compile() { \
	  UV_CUSTOM_COMPILE_COMMAND='make lock' build/uv/bin/uv pip compile --quiet --upgrade --universal \
	    --python-version 3.11 --generate-hashes --no-annotate pyproject.toml "$$@"; \
	}; \
	compile --extra dev --output-file requirements-dev.lock && \
	compile --extra build --constraints requirements-dev.lock --output-file requirements.lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
