# Everything runs in .venv, which is made on first use and brought up to date only when
# pyproject.toml or constraints.txt change. Another interpreter: `make clean`, then
# `make PYTHON=python3.12 test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help replay kafka-broker kafka-cluster kfake crabka crabka-core recorder test test-slow test-all cover matrix \
	lint versions recall site bench clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

replay: $(READY) ## Judge a broker's request log and recorded traces against the specification
	$(BIN)/sharespec replay tests/data/observed/kafka-request.log.gz
	$(BIN)/sharespec replay tests/data/traces --profile kafka

kafka-broker: $(READY) ## Verify a whole Apache Kafka broker, started for it (Java and Maven)
	$(BIN)/sharespec verify kafka-broker

kafka-cluster: $(READY) ## Run three nodes of Apache Kafka under faults with real clients (Java and Maven)
	$(BIN)/sharespec cluster kafka

kfake: $(READY) ## Verify kfake, a broker in Go, started for it (Go)
	$(BIN)/sharespec verify kfake

crabka: $(READY) ## Verify crabka, a broker in Rust, started for it (cargo; built in minutes)
	$(BIN)/sharespec verify crabka

crabka-core: $(READY) ## Verify the core of crabka's share-partitions, in virtual time (cargo)
	$(BIN)/sharespec verify crabka-core

recorder: ## Build the recorder of a broker's share-partitions, a Java agent (Java 17 and Maven)
	mvn --quiet --batch-mode --file recorder/pom.xml package
	@ls recorder/target/sharespec-recorder.jar

# For two cores: half of the time of tests is waiting, for a client, a broker or a JVM. Tests that share
# something costly, such as a Spark session, stay on one worker through the mark xdist_group;
# tests/conftest.py says which come first.
WORKERS := 4
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder

# The same examples everywhere: whether a change passes is no matter of luck.
test test-slow test-all cover: export PYTHONHASHSEED ?= 0

# Where it is set, each worker and each command that a test starts compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

# Java that runs for a minute spends half of it in its second compiler and collector.
BRIEF := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
test test-slow test-all: export MAVEN_OPTS ?= $(BRIEF)
test test-slow test-all: export SPARK_SUBMIT_OPTS ?= $(BRIEF)
test test-slow test-all: export SPARK_DAEMON_JAVA_OPTS ?= $(BRIEF)

# What must cover model and spec whole; beside `cover` no other target runs it again.
COVERING := tests/model tests/spec tests/rules
ELSEWHERE := $(if $(filter cover,$(MAKECMDGOALS)),$(COVERING:%=--ignore=%))

# `make test test-slow` is one run, which collects, loads, compiles and starts once what both share.
BOTH := $(and $(filter test,$(MAKECMDGOALS)),$(filter test-slow,$(MAKECMDGOALS)))
$(if $(BOTH),test) test-slow: WORKERS := 6
cover: WORKERS := 2
$(if $(BOTH),test) test-slow: export SHARESPEC_STEPS ?= 40000
test-all: export SHARESPEC_STEPS ?= 120000

test: $(READY) ## Run the tests that a change needs, in minutes
	$(PYTEST) $(ELSEWHERE) $(if $(BOTH),-m "not long" --durations 25)

test-slow: $(READY) ## Run what `make test` leaves out: searches, clusters, brokers, long runs
	$(if $(BOTH),,$(PYTEST) -m "(slow or broker or volume) and not long" --durations 25)

test-all: $(READY) ## Run every test; with DRAW=search of examples drawn anew
	$(PYTEST) -m "" $(if $(DRAW),--hypothesis-profile=$(DRAW))

cover: $(READY) ## Check that the tests of model, spec and the rules cover all of model and spec
	$(PYTEST) $(if $(BOTH),-m "not long") $(COVERING) --cov

matrix: ## Run `make test` with each Python from 3.11 to 3.14 that is installed
	@for version in 3.11 3.12 3.13 3.14; do \
		if python$$version -c '' 2>/dev/null; then \
			$(MAKE) VENV=.venv-$$version PYTHON=python$$version test || exit 1; \
		else echo "python$$version is not installed: not tested"; fi; \
	done

versions: $(READY) ## Play the known deviations of each target on its releases: docs/versions.md (Java, Maven and Go)
	$(BIN)/python -m tools.versions
	$(BIN)/python -m tools.documents

recall: $(READY) ## Measure which faults that others found the search finds: docs/recall.md (Java, Maven and Go)
	$(BIN)/python -m tools.recall
	$(BIN)/python -m tools.documents

lint: $(READY) ## Check style, format, types and the table of packages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m tools.rooms

site: $(READY) ## Build the documentation as a site: out/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(READY) ## Measure specification, implementation and replay
	$(BIN)/python -m benchmarks

clean: ## Remove the environment, builds and caches
	rm -rf $(VENV) .venv-3.* build dist out htmlcov .coverage .coverage.* .hypothesis .mypy_cache \
		.pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -c pins what is installed; the two variables pin what builds it, for pip before and since 25.3.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "sharespec needs Python 3.11 or newer, and '$(PYTHON)' is not: try make PYTHON=python3.11" >&2; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "sharespec needs Python's venv module (Debian: apt-get install python3-venv)" >&2; \
		exit 1; }
	@echo "Installing the pinned dependencies into $(VENV); the first time takes a minute or two."
	@$(PYTHON) -m venv $(VENV)
	@PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
		$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@
