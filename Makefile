# make help lists the targets. Everything here needs Go, make and a POSIX shell
# and nothing else; what tests need beyond that, they build.

GO      ?= go
BIN     ?= bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# Versions of the tools that check the code.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     = mvdan.cc/gofumpt@v0.12.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0

export CGO_ENABLED ?= 0

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the command into bin/
	$(GO) build -trimpath -buildvcs=false -ldflags "-s -w -X main.stamp=$(VERSION)" -o $(BIN)/audit ./cmd/audit

.PHONY: tools
tools: ## build etcd, kube-apiserver, kubectl and helm into a cache outside the tree
	@testdata/cluster/build.sh cluster helm

# The race detector needs cgo, so a C compiler; without one the tests run
# without it and say so.
RACE = $(if $(shell command -v $$($(GO) env CC) 2>/dev/null),-race,)

.PHONY: test
test: tools ## run every test, those against a real API server too
	@[ -n "$(RACE)" ] || echo "no C compiler: the race detector is off"
	CGO_ENABLED=$(if $(RACE),1,0) $(GO) test $(RACE) -timeout 30m ./...
	$(GO) test -C image ./...

.PHONY: test-unit
test-unit: ## run the tests that need no API server
	$(GO) test -short ./...
	$(GO) test -C image -short ./...

.PHONY: lint
lint: ## vet, staticcheck and formatting
	$(GO) vet ./...
	$(GO) vet -C image ./...
	$(GO) run $(STATICCHECK) ./...
	cd image && $(GO) run $(STATICCHECK) ./...
	@unformatted="$$($(GO) run $(GOFUMPT) -l .)"; \
	 if [ -n "$$unformatted" ]; then echo "make fmt would change:"; echo "$$unformatted"; exit 1; fi

# How long each fuzz target looks for trouble.
FUZZTIME ?= 10s

.PHONY: fuzz
fuzz: ## let each fuzz target look for trouble for FUZZTIME
	@GO="$(GO)" FUZZTIME=$(FUZZTIME) testdata/fuzz.sh

.PHONY: verify
verify: ## check modules against their checksums, and for known vulnerabilities
	$(GO) mod verify
	$(GO) -C image mod verify
	@GO="$(GO)" GOVULNCHECK=$(GOVULNCHECK) testdata/vulnerabilities.sh . image

.PHONY: fmt
fmt: ## format the code
	$(GO) run $(GOFUMPT) -w .

.PHONY: generate
generate: ## write the generated parts of the docs, the definitions and the licences that come from the code
	$(GO) generate ./audit/api/...
	$(GO) test ./cmd/audit -run '^TestDocs' -update
	$(GO) generate ./charts
	cd image && $(GO) run ./licenses

.PHONY: demo
demo: tools ## sweep the sample estate in a real control plane, mend a fault, sweep again
	@$(GO) build -o $(BIN)/audit ./cmd/audit
	@$(GO) run ./e2e/kubetest/withcluster -- testdata/demo.sh $(BIN)/audit

.PHONY: drill
drill: tools ## let two publishers fight on a real API server, and print what it costs
	$(GO) test ./e2e/drill -run '^TestDrill$$' -v -count=1

# LARGE=1 measures an estate of ten times the size, too; ARGS are flags of the
# benchmark, such as its sizes.
.PHONY: bench
bench: tools build ## measure a sweep on a real API server, and write what it costs into BENCH.md
	@$(GO) build -trimpath -ldflags "-s -w" -o $(BIN)/ ./e2e/bench/...
	$(BIN)/bench -page BENCH.md $(if $(LARGE),-large) $(ARGS)

# How many runs with faults, each by the seed that is its number.
FAULT_SEEDS ?= 1000

.PHONY: faults
faults: tools ## publish through an API server and a Slack that misbehave by chance, and count what comes of it
	AUDIT_FAULT_SEEDS=$(FAULT_SEEDS) $(GO) test ./e2e/faults -run '^TestLawsHoldThroughFaults$$' -v -count=1 -timeout 3h

# What the image is called, for which machines it is made, and when it says that
# it was made: with the commit, so that two builds of one are the same.
IMAGE     ?= ghcr.io/eventuallytrue/audit
PLATFORMS ?= linux/amd64 linux/arm64
EPOCH     ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

.PHONY: image
image: ## build the container images with docker, podman or buildah
	@IMAGE=$(IMAGE) VERSION=$(VERSION) EPOCH=$(EPOCH) image/build.sh $(PLATFORMS)

.PHONY: image-archive
image-archive: ## make the same images without a builder, as archives that docker and ctr load
	@mkdir -p $(BIN)
	@IMAGE=$(IMAGE) VERSION=$(VERSION) EPOCH=$(EPOCH) image/archive.sh $(abspath $(BIN)) $(PLATFORMS)

.PHONY: image-twice
image-twice: ## make the archives twice, from nothing and in different folders, and compare them
	@IMAGE=$(IMAGE) VERSION=$(VERSION) EPOCH=$(EPOCH) image/twice.sh $(PLATFORMS)

# What kind of machine this is.
ARCH = $(shell $(GO) env GOARCH)

.PHONY: e2e
e2e: ## install the image by the chart on a whole node and sweep there; takes root, Linux and minutes
	@testdata/cluster/build.sh cluster node helm >/dev/null
	@$(MAKE) --no-print-directory image-archive PLATFORMS=linux/$(ARCH)
	AUDIT_NODE=1 AUDIT_E2E_IMAGE=$(abspath $(BIN))/audit-linux-$(ARCH).tar \
		$(GO) test -p 1 -count=1 -v -timeout 15m ./e2e/node ./e2e

.PHONY: clean
clean: ## remove what build made in the tree
	rm -rf $(BIN)
