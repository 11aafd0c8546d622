# `make help` lists what there is. Everything happens in .venv inside this folder.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
BENCH_STAMP := .venv/.installed-bench
PEERS := .venv-peers/bin
PEERS_STAMP := .venv-peers/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo serve test test-server test-browser console-screenshots test-clients test-go test-java lint types layers proto proto-check check bench load bench-quick bench-peers eval crash clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}'

setup: $(STAMP) ## Make .venv with everything in it

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "memlane needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(STAMP) ## Watch memory being made, kept true, used and forgotten; writes demo-report.html
	$(BIN)/memlane demo

serve: $(STAMP) ## Serve on 127.0.0.1:7070 with the embedded default
	$(BIN)/memlane serve

# More workers than cores: they wait for servers to start. Compiled modules are kept, as each of those servers loads them.
test: $(STAMP) ## Run the tests
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 4 --dist loadscope --no-loadscope-reorder -m "not milvus_server and not long and not browser" tests

test-server: $(STAMP) ## Run the vector store's contract against a real Milvus server (installs it on first use)
	$(BIN)/pytest -m milvus_server tests

test-clients: test-go test-java ## Run the tests of the Go and Java clients

test-go: $(STAMP) ## Run the Go client's tests against a real server, also over TLS with tokens; needs Go
	cd clients/go && go vet ./... && go test -count=1 ./... && MEMLANE_GO_TEST_SECURE=1 go test -count=1 .

test-java: $(STAMP) ## Run the Java client's tests against a real server, also over TLS; needs Java 17 and Maven
	mvn -q -B -f clients/java/pom.xml test

test-browser: $(STAMP) ## Drive the console with a real Chromium (installs Debian's where there is none)
	.ci/chromium.sh
	$(BIN)/pytest -m browser tests/browser

console-screenshots: $(STAMP) ## Take the pictures of the console anew: docs/images/console-*.png
	.ci/chromium.sh
	$(BIN)/python -m tests.browser.screenshots docs/images

lint: $(STAMP) ## Style of the hand-written code and of the contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/buf lint proto
	$(BIN)/buf format -d --exit-code proto

types: $(STAMP) ## mypy --strict
	$(BIN)/mypy

layers: $(STAMP) ## The directions of dependency
	$(BIN)/lint-imports

proto: $(STAMP) ## Regenerate the stubs of Python and Go
	proto/generate.sh
	proto/generate_go.sh

proto-check: $(STAMP) ## Stubs in step with the contract, contract compatible with main
	proto/generate.sh
	proto/generate_go.sh
	git diff --exit-code -- clients/python/memlane/v1 clients/go/memlanev1
	proto/check_breaking.sh

check: lint types layers ## All static checks

bench: $(BENCH_STAMP) ## All benchmarks, under 20 minutes: benchmarks/results/bench.json, bench.md, plots
	$(BIN)/python -m benchmarks.suite

$(BENCH_STAMP): $(STAMP) pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

load: $(BENCH_STAMP) ## Scenarios, soak, overload and noisy neighbour: benchmarks/results/load/report.md; needs Go
	$(BIN)/python -m benchmarks.load_harness

bench-quick: $(STAMP) ## First figures, under two minutes: benchmarks/results/quick.json
	$(BIN)/python -m benchmarks.quick

bench-peers: $(PEERS_STAMP) ## Beside other stores and memory libraries, in an environment of its own, under 20 minutes
	$(PEERS)/python -m benchmarks.peers

$(PEERS_STAMP): benchmarks/peers/requirements.txt pyproject.toml
	test -x $(PEERS)/python || $(PYTHON) -m venv .venv-peers
	$(PEERS)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt -e '.[server]'
	touch $@

eval: $(STAMP) ## Score extraction, decisions, retrieval and returning customers on the public sets
	$(BIN)/python -m benchmarks.evaluate

crash: $(STAMP) ## 200 rounds of kill -9 during writes
	$(BIN)/python -m tests.crash.kill_rounds --rounds 200

clean: ## Remove what was built or recorded here
	rm -rf .venv .venv-proto .venv-milvus .venv-peers build dist memlane-data memlane-bench demo-report.html
