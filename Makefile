# Run make help for a list of the targets. All of them need only Go, make and a
# POSIX shell; the tools that tests need are built from source.

GO      ?= go
BIN     ?= bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# Versions of the tools that check the code.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     = mvdan.cc/gofumpt@v0.12.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
ACTIONLINT  = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GORELEASER  = github.com/goreleaser/goreleaser/v2@v2.16.0

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

# The race detector needs cgo and thus a C compiler. Without one the tests run
# without the race detector and print a line about it.
RACE = $(if $(shell command -v $$($(GO) env CC) 2>/dev/null),-race,)

.PHONY: test
test: tools ## run all tests, including those that need an API server
	@[ -n "$(RACE)" ] || echo "no C compiler: the race detector is off"
	CGO_ENABLED=$(if $(RACE),1,0) $(GO) test $(RACE) -timeout 30m ./...
	$(GO) test -C e2e/image ./...

.PHONY: test-unit
test-unit: ## run the tests that don't need an API server
	$(GO) test -short ./...
	$(GO) test -C e2e/image -short ./...

.PHONY: lint
lint: ## check the code with vet, staticcheck and gofumpt
	$(GO) vet ./...
	$(GO) vet -C e2e/image ./...
	$(GO) run $(STATICCHECK) ./...
	cd e2e/image && $(GO) run $(STATICCHECK) ./...
	@unformatted="$$($(GO) run $(GOFUMPT) -l .)"; \
	 if [ -n "$$unformatted" ]; then echo "not formatted (run make fmt):"; echo "$$unformatted"; exit 1; fi

.PHONY: lint-workflows
lint-workflows: ## check the GitHub workflows with actionlint
	$(GO) run $(ACTIONLINT)

# How long to run each fuzz target.
FUZZTIME ?= 10s

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME
	@GO="$(GO)" FUZZTIME=$(FUZZTIME) testdata/fuzz.sh

.PHONY: verify
verify: ## check modules against their checksums and for known vulnerabilities
	$(GO) mod verify
	$(GO) -C e2e/image mod verify
	@GO="$(GO)" GOVULNCHECK=$(GOVULNCHECK) testdata/vulnerabilities.sh . e2e/image

.PHONY: fmt
fmt: ## format the code
	$(GO) run $(GOFUMPT) -w .

.PHONY: generate
generate: ## regenerate the CRDs and the generated parts of the documents and the chart
	$(GO) generate ./audit/api/...
	$(GO) test ./cmd/audit -run '^TestDocs' -update
	$(GO) generate ./charts

.PHONY: demo
demo: tools ## sweep the sample estate on a real API server, fix a fault, and sweep again
	@$(GO) build -o $(BIN)/audit ./cmd/audit
	@$(GO) run ./e2e/kubetest/withcluster -- testdata/demo.sh $(BIN)/audit

# DRILL=full interrupts publishers hundreds of times.
.PHONY: drill
drill: tools ## run publishers against each other on a real API server, interrupt them, and print the costs
	AUDIT_DRILL=$(DRILL) $(GO) test ./e2e/drill -run '^(TestDrill|TestToldOnce.*)$$' -v -count=1 -timeout 1h

# LARGE=1 also measures an estate of ten times the size. ARGS are flags of the
# benchmark, such as the sizes of the estate.
.PHONY: bench
bench: tools build ## measure a sweep on a real API server and write docs/benchmark.md
	@$(GO) build -trimpath -ldflags "-s -w" -o $(BIN)/ ./e2e/bench/...
	$(BIN)/bench -page docs/benchmark.md $(if $(LARGE),-large) $(ARGS)

# The number of runs with faults. Each run is seeded by its number.
FAULT_SEEDS ?= 1000

.PHONY: faults
faults: tools ## publish with random faults of the API server and Slack, and check the results
	AUDIT_FAULT_SEEDS=$(FAULT_SEEDS) $(GO) test ./e2e/faults -run '^TestLawsHoldThroughFaults$$' -v -count=1 -timeout 3h

# The number of attacks on manifests and on an API server. Each is seeded by its number.
REDTEAM_SEEDS      ?= 5000
REDTEAM_LIVE_SEEDS ?= 60

.PHONY: redteam
redteam: tools ## attack as a tenant who hides thefts of hosts and openings, and check that nothing goes unseen
	AUDIT_REDTEAM_SEEDS=$(REDTEAM_SEEDS) $(GO) test ./e2e/redteam -run '^TestLawsHoldAgainstATenant$$' -v -count=1 -timeout 3h
	AUDIT_REDTEAM_LIVE_SEEDS=$(REDTEAM_LIVE_SEEDS) $(GO) test ./e2e/redteam -run '^TestLawsHoldOnAnAPIServer$$' -v -count=1 -timeout 3h

# The name, the platforms and the creation time of the image. The creation time is
# that of the commit, so that two builds of a commit are identical.
IMAGE     ?= ghcr.io/eventuallytrue/audit
PLATFORMS ?= linux/amd64 linux/arm64
EPOCH     ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

.PHONY: image
image: ## build the container images with docker, podman or buildah
	@IMAGE=$(IMAGE) VERSION=$(VERSION) EPOCH=$(EPOCH) e2e/image/build.sh $(PLATFORMS)

.PHONY: image-archive
image-archive: ## build the same images without a builder, as archives for docker load and ctr import
	@mkdir -p $(BIN)
	@IMAGE=$(IMAGE) VERSION=$(VERSION) EPOCH=$(EPOCH) e2e/image/archive.sh $(abspath $(BIN)) $(PLATFORMS)

.PHONY: image-twice
image-twice: ## build the archives twice, in different folders and without a cache, and compare them
	@IMAGE=$(IMAGE) VERSION=$(VERSION) EPOCH=$(EPOCH) e2e/image/twice.sh $(PLATFORMS)

.PHONY: chart
chart: ## package the chart into bin/, to push it to an OCI registry
	@mkdir -p $(BIN)
	@"$$(testdata/cluster/build.sh helm)/helm" package charts/audit --destination $(BIN)

.PHONY: snapshot
snapshot: ## build the archives of a release into dist/, unsigned and unpublished
	$(GO) run $(GORELEASER) release --snapshot --clean --skip=sign,sbom

.PHONY: licenses
licenses: ## write the third-party licenses of the binary to bin/
	@mkdir -p $(BIN)
	$(GO) run -C e2e/image ./licenses -out $(abspath $(BIN))/THIRD_PARTY_LICENSES.md

# The architecture of this machine.
ARCH = $(shell $(GO) env GOARCH)

.PHONY: e2e
e2e: ## install the image with the chart on a whole node and sweep there; needs root and Linux, takes minutes
	@testdata/cluster/build.sh cluster node helm >/dev/null
	@$(MAKE) --no-print-directory image-archive PLATFORMS=linux/$(ARCH)
	AUDIT_NODE=1 AUDIT_E2E_IMAGE=$(abspath $(BIN))/audit-linux-$(ARCH).tar \
		$(GO) test -p 1 -count=1 -v -timeout 15m ./e2e/node ./e2e

.PHONY: clean
clean: ## remove the build output from the tree
	rm -rf $(BIN) dist
