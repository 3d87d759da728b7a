# make demo   builds leslie and runs the main job on real files
# make test   runs every test
# make check  everything that has to hold before a change lands

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TAGS    := urfave_cli_no_docs
GO      := go
TOOL    := $(GO) tool -modfile=.ci/tools.mod
FUZZTIME ?= 10s

export CGO_ENABLED ?= 0

.PHONY: build demo test race lint golden fuzz bench check clean

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

# Whole processes at 100, 10,000 and 100,000 threads, then the rooms.
bench: build
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchtime 100x -timeout 60m ./cmd/leslie
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchmem -timeout 60m ./storage/... ./threads ./refs ./pkg/...

check: lint test race

clean:
	rm -rf bin
