# make demo   builds leslie and runs the main job on real files
# make test   runs every test
# make check  everything that has to hold before a change lands

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TAGS    := urfave_cli_no_docs
GO      := go
TOOL    := $(GO) tool -modfile=.ci/tools.mod
FUZZTIME ?= 10s

export CGO_ENABLED ?= 0

.PHONY: build demo test race lint golden fuzz bench crash damage hostile linear contention scale check clean

build:
	$(GO) build -trimpath -tags $(TAGS) -ldflags '-s -w -X github.com/leslie-sh/leslie/pkg/command.version=$(VERSION)' -o bin/leslie ./cmd/leslie

demo: build
	@PATH="$(CURDIR)/bin:$$PATH" sh testdata/demo.sh

test:
	$(GO) test -tags $(TAGS) ./...

race:
	CGO_ENABLED=1 $(GO) test -race -short -tags $(TAGS) ./...

lint:
	@out=$$(gofmt -s -l .); test -z "$$out" || { echo "gofmt -s would change:"; echo "$$out"; exit 1; }
	$(GO) vet -tags $(TAGS) ./...
	$(TOOL) staticcheck -tags $(TAGS) ./...
	$(GO) mod tidy -diff
	$(GO) mod verify

# Writes what is derived from the code: README's tables and golden files.
golden:
	$(GO) test -tags $(TAGS) ./pkg/command -run Readme -update

# Each fuzz target for FUZZTIME.
fuzz:
	@set -e; for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -tags $(TAGS) -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; \
	    $(GO) test -tags $(TAGS) -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
	  done; done

# What the store promises, as figures: each sweep in full, which fails when one
# outcome is wrong. Their short forms are part of make test.
SWEEP = $(GO) test -tags $(TAGS) -count 1 -v -timeout 120m -full

# Every change of every command that writes goes wrong in every way.
crash:
	$(SWEEP) -run 'CrashSweep' ./pkg/command

# Every byte and every prefix of the store's files, and triples of damage.
damage:
	$(SWEEP) -run '^TestDamage' ./storage ./pkg/command

# Files of the store that an attacker wrote or replaced.
hostile:
	$(SWEEP) -run '^TestHostile' ./pkg/command

# Histories of hundreds of processes, checked for one order that explains them.
linear:
	$(SWEEP) -run '^TestLinearizable$$' ./pkg/command

# Up to 128 processes that write at once, beside a bare lock with the same bytes and syncs.
contention:
	$(SWEEP) -run '^TestContention|^TestLockHeld' ./storage

# Whole processes at 100, 10,000 and 100,000 threads: time and memory.
scale:
	$(SWEEP) -run '^TestScale$$' ./cmd/leslie

# The rooms by themselves.
bench:
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchmem -timeout 60m ./storage/... ./threads ./refs ./pkg/...

check: lint test race

clean:
	rm -rf bin
