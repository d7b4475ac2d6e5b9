# make demo   the main job on real processes, two minutes once it is built
# make test   every test, simulations in their short form
# make help   the rest
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

BIN   := bin
TOOLS := $(CURDIR)/.tools
NODE_ROOMS := systems/count/monolith systems/count/carved systems/ingest/node systems/ingest/stream/kinesis/kinesistest e2e/ingest/segment

CASCADE := systems/emojify/facebox/cascade/facefinder

# A tool's version is part of its stamp's name, so that a new pin installs it.
GOFUMPT_VERSION        := v0.12.0
GOLANGCI_VERSION       := v2.15.0
BUF_VERSION            := v1.72.0
DEADCODE_VERSION       := v0.52.0
PROTOC_GEN_GO_VERSION  := v1.36.12
PROTOC_GEN_TWIRP_VERSION := v8.1.3
PROTOC_GEN_CONNECT_VERSION := v1.21.1
PROTOC_GEN_GO_GRPC_VERSION := v1.6.0

# With the same flags packages are compiled once: for the tools, for tests, for the commands
# that e2e builds, for most of bin/ and for the linters, which ask for what is compiled;
# with -trimpath once for all checkouts. Nobody has a debugger read what is made here:
# without its tables the compiler and the linker need a tenth less.
COMPILED := -trimpath -gcflags=all=-dwarf=false -ldflags=-s

# A compiler lives for seconds, and collects garbage for a fifth of them unless the heap may
# grow further.
COMPILER := GOGC=400 GOMEMLIMIT=1GiB

define tool # $(1) name, $(2) package, $(3) version
$(TOOLS)/.$(1)-$(3):
	@echo "installing $(1) $(3) (once)"
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) GOFLAGS='$(COMPILED)' $(COMPILER) go install $(2)@$(3)
	@rm -f $(TOOLS)/.$(1)-v* && touch $$@
TOOL_$(1) := $(TOOLS)/.$(1)-$(3)
endef
$(eval $(call tool,gofumpt,mvdan.cc/gofumpt,$(GOFUMPT_VERSION)))
$(eval $(call tool,golangci-lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$(GOLANGCI_VERSION)))
$(eval $(call tool,buf,github.com/bufbuild/buf/cmd/buf,$(BUF_VERSION)))
$(eval $(call tool,deadcode,golang.org/x/tools/cmd/deadcode,$(DEADCODE_VERSION)))
$(eval $(call tool,protoc-gen-go,google.golang.org/protobuf/cmd/protoc-gen-go,$(PROTOC_GEN_GO_VERSION)))
# Twirp's generator is no module of its own, and proxies differ in what they
# answer when asked for one: it is built from the version that go.mod pins.
TOOL_protoc-gen-twirp := $(TOOLS)/.protoc-gen-twirp-$(PROTOC_GEN_TWIRP_VERSION)
$(TOOL_protoc-gen-twirp): go.mod
	@echo "installing protoc-gen-twirp $(PROTOC_GEN_TWIRP_VERSION) (from go.mod)"
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) GOFLAGS='$(COMPILED)' $(COMPILER) go install github.com/twitchtv/twirp/protoc-gen-twirp
	@rm -f $(TOOLS)/.protoc-gen-twirp-v* && touch $@
$(eval $(call tool,protoc-gen-connect-go,connectrpc.com/connect/cmd/protoc-gen-connect-go,$(PROTOC_GEN_CONNECT_VERSION)))
$(eval $(call tool,protoc-gen-go-grpc,google.golang.org/grpc/cmd/protoc-gen-go-grpc,$(PROTOC_GEN_GO_GRPC_VERSION)))
GENERATORS := $(TOOL_buf) $(TOOL_protoc-gen-go) $(TOOL_protoc-gen-twirp) $(TOOL_protoc-gen-connect-go) $(TOOL_protoc-gen-go-grpc)

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# It builds what the count walk needs and nothing else, and says what it does meanwhile.
COUNT_NODE := systems/count/monolith/node_modules/.installed
.PHONY: demo
demo demo-behind: export GOFLAGS := $(GOFLAGS) $(COMPILED) '-toolexec=env $(COMPILER)'
demo: demo-built ## carve the count endpoint end to end on real processes
	@$(BIN)/demo-count count
.PHONY: demo-behind
demo-behind: demo-built ## the count walk behind nginx, or with ENVOY=1 Envoy, and whittle killed in the middle
	@$(BIN)/demo-count count --behind $(if $(ENVOY),envoy,nginx)
.PHONY: demo-built
demo-built: need-go $(COUNT_NODE)
	@mkdir -p $(BIN)
	@echo "building whittle, the count service and the demo (the first time their modules are downloaded and compiled: some minutes)"
	@CGO_ENABLED=0 go build -v -buildvcs=auto -o $(BIN)/ ./cmd/whittle ./systems/count/cmd/... 2>&1 | $(BUILT)
	@CGO_ENABLED=0 go build -v -buildvcs=auto -tags demo_count -o $(BIN)/demo-count ./cmd/demo 2>&1 | $(BUILT)

.PHONY: recording
recording: build deps ## docs/images/demo.svg anew: what make demo prints, in half a minute
	@go run ./e2e/recording -o docs/images/demo.svg $(BIN)/demo count

# go build -v, shortened: downloads as they are, packages as a count.
BUILT := awk '/^go: downloading/ { print "  downloading " $$3 " " $$4; fflush(); next } /:[0-9]+:/ || /^\#/ || /^go: / { print; next } { if (++n % 50 == 0) { print "  built " n " packages"; fflush() } } END { if (n) print "  built " n " packages" }'

.PHONY: demo-ingest
demo-ingest: build deps ## events onto a stream: Node.js, Node.js with batching, Go; every acknowledged one read back
	@$(BIN)/demo ingest

.PHONY: demo-emojify
demo-emojify: build ## profile a service, name the line that costs, take it out, guard against its return
	@$(BIN)/demo emojify

build test race lint lint-code lint-dead: export GOFLAGS := $(GOFLAGS) $(COMPILED)
# As shipped: without cgo. The race detector needs it.
test lint lint-code lint-dead: export CGO_ENABLED := 0
test race: export GOFLAGS += '-toolexec=env $(COMPILER)'

# Nothing is vetted here: make lint vets every package, with and without its tests.
# Four packages more than there are cores at once, since many tests wait for
# other processes. What the machine lacks for is listed at the end, with the command
# that installs it; with REQUIRE_ALL=1 it fails (internal/needs).
# With -short simulations take a quarter of the runs (internal/simtest); make check-all
# takes all of them.
.PHONY: test
test: deps $(CASCADE) ## every test, Go and Node; REQUIRE_ALL=1 fails where a tool is missing
	@export NOT_TRIED=$$(mktemp); trap 'rm -f "$$NOT_TRIED"' EXIT; status=0; \
	 node() { for room in $(NODE_ROOMS); do echo "npm test in $$room"; out=$$(cd $$room && npm test --silent 2>&1) || { echo "$$out"; echo "FAIL npm test in $$room"; return 1; }; done; }; \
	 node & node=$$!; \
	 go test -short -vet=off -shuffle=on -timeout 30m -p $$(( $$(getconf _NPROCESSORS_ONLN) + 4 )) $(TESTED) || status=$$?; \
	 wait $$node || status=$$?; \
	 if [ -s "$$NOT_TRIED" ]; then echo "NOT TRIED, since something is missing here (with REQUIRE_ALL=1 that fails):"; \
	   awk -F'\t' '{ n[$$1 ": " $$2]++ } END { for (k in n) printf "  %s  (%d)\n", k, n[k] }' "$$NOT_TRIED" | sort; fi; \
	 exit $$status
# What waits long for brokers, disks and users comes first: last, it would leave the cores
# idle. Before it comes the command that it builds, so that nothing is compiled twice.
TESTED := ./systems/ingest/stream/... ./cmd/whittle ./e2e/... ./...

# A process under the detector sleeps for a second before it ends, unless it is told not
# to; tests start hundreds.
race: export GORACE := $(GORACE) atexit_sleep_ms=0
.PHONY: race
race: deps $(CASCADE) ## the rooms where goroutines meet, under the race detector
	@CRASH_SEEDS=40 MODEL_STEPS=10000 go test -short -race -vet=off -timeout 30m -p $$(( $$(getconf _NPROCESSORS_ONLN) + 2 )) -skip $(RACE_SKIP) $(RACE_ROOMS)

# Scripts that only start other verbs in processes of their own are left to make
# test, and so is what one goroutine or another process computes for seconds: searches
# for faces, bits flipped one by one, long bodies, a browser's page, a judge's walk.
RACE_SKIP := 'MistakesNameTheirPlace|Scripts/(about|check|find|help|load|new|profile|record|replay|usage)|TargetsOfEveryKind/a_body_of_100_MB|WhatACredentialDecides|TestsAreOfDistinctInputs|NodeThatHasBeenHot|WhyAProcessCannotBeAttached|Faces(AreFound|AreCovered)|APictureOnItsSide|AnAddressBecomesAPicture|EveryFlippedBit|SeriesStaysBounded|AHundredThousandExchanges|SplicingIsMerging|PixelsAreCounted'

# The hostile matrix and the walk are left to make test: their gateways are other
# processes, and the detector makes them too slow for the times they hold.
RACE_ROOMS := ./carve/gateway/... ./carve/steer ./carve/fleet/... ./carve/control/... ./carve/state/... ./carve/admin/... ./load/... ./internal/latency/... ./systems/... ./cmd/... ./record/recorder ./record/journal ./record/replay ./profile/collect ./e2e/passthrough/...

# A build names its commit where git has it, whatever GOFLAGS says.
.PHONY: build
build: need-go $(CASCADE) ## bin/whittle, one static binary, bin/whittle-fleet, the same with a NATS server in it, and bin/demo with its services
	@mkdir -p $(BIN)
	@echo "building whittle and the demos (the first time their modules are downloaded and compiled: some minutes)"
	@CGO_ENABLED=0 go build -buildvcs=auto -trimpath -ldflags='-s -w' -o $(BIN)/whittle ./cmd/whittle
	@CGO_ENABLED=0 go build -buildvcs=auto -trimpath -ldflags='-s -w' -tags embedded -o $(BIN)/whittle-fleet ./cmd/whittle
	@CGO_ENABLED=0 go build -buildvcs=auto -trimpath -o $(BIN)/ ./cmd/demo ./systems/count/cmd/... ./systems/ingest/cmd/... ./systems/emojify/cmd/...

# Packaging has a module of its own (deploy/go.mod): what it imports is not whittle's.
.PHONY: release release-check
release: need-go ## out/release: archives, packages, parts lists and checksums of the commit, the same bytes anywhere
	@cd deploy && go run ./release -root .. -out ../out/release
release-check: need-go ## build the release twice, in two folders, and compare every byte
	@cd deploy && go test -count=1 -timeout 30m ./release

.PHONY: deploy-check
deploy-check: need-go ## the chart, manifests, Dockerfiles, Compose files and alert rules by their own projects' readers, Argo's and Flagger's questions by their own code, and an HTTPRoute by a Kubernetes API server
	@cd deploy && go vet ./... && go test ./check
	@cd deploy/callers && go vet ./... && go test ./...

# Embedded where it is; without it everything builds, and face detection says
# which command is missing.
.PHONY: cascade
cascade: $(CASCADE) ## face detection's cascade, out of pigo's module
$(CASCADE): go.mod
	@go mod download github.com/esimov/pigo
	@install -m 644 "$$(go list -m -f '{{.Dir}}' github.com/esimov/pigo)/cascade/facefinder" $@

.PHONY: deps
deps: need-go need-node $(NODE_ROOMS:%=%/node_modules/.installed) ## the npm packages of the Node services

%/node_modules/.installed: %/package-lock.json
	@echo "npm ci in $*"
	@cd $* && npm ci --silent --no-audit --no-fund && touch node_modules/.installed

.PHONY: need-go need-node
need-go:
	@command -v go >/dev/null || { echo "Go 1.26 or newer is missing: install it from https://go.dev/dl/ and put it on PATH" >&2; exit 1; }
	@v=$$(go env GOVERSION); v=$${v#go}; maj=$${v%%.*}; min=$${v#*.}; min=$${min%%.*}; min=$${min%%[!0-9]*}; \
	 { [ "$$maj" -gt 1 ] || [ "$$min" -ge 26 ]; } || { echo "Go 1.26 or newer is needed, $$v is here: https://go.dev/dl/" >&2; exit 1; }
need-node:
	@command -v node >/dev/null || { echo "Node.js 20 or newer is missing: apt-get install nodejs npm (Debian 13), or https://nodejs.org/en/download" >&2; exit 1; }
	@command -v npm >/dev/null || { echo "npm is missing: apt-get install npm" >&2; exit 1; }
	@v=$$(node --version); v=$${v#v}; [ "$${v%%.*}" -ge 20 ] || { echo "Node.js 20 or newer is needed, $$v is here: https://nodejs.org/en/download" >&2; exit 1; }

# The parts wait for themselves alone: make -j lint runs them at once.
.PHONY: lint lint-format lint-code lint-dead
lint: lint-format lint-code lint-dead check-generated check-parts ## format, linters, dead code, generated code
lint-format: $(TOOL_gofumpt)
	@out=$$($(TOOLS)/gofumpt -l $$(git ls-files '*.go' | grep -v '/rpc/')); [ -z "$$out" ] || { echo "not gofumpt'ed (run make format):"; echo "$$out"; exit 1; }
lint-code: need-go $(TOOL_golangci-lint)
	@$(TOOLS)/golangci-lint run ./...
	@go vet -tags embedded ./carve/fleet/embedded
lint-dead: need-go $(TOOL_deadcode)
	@out=$$($(TOOLS)/deadcode -test ./...); [ -z "$$out" ] || { echo "dead code:"; echo "$$out"; exit 1; }

.PHONY: format
format: $(TOOL_gofumpt) ## gofumpt over everything
	@$(TOOLS)/gofumpt -w $$(git ls-files '*.go' | grep -v '/rpc/')

.PHONY: generate
generate: $(GENERATORS) ## stubs and descriptor from the contracts
	@cd systems/count && PATH=$(TOOLS):$$PATH $(TOOLS)/buf generate && $(TOOLS)/buf build --as-file-descriptor-set --exclude-source-info -o count.binpb
	@cd systems/emojify && PATH=$(TOOLS):$$PATH $(TOOLS)/buf generate

.PHONY: dashboard-parts check-parts
dashboard-parts: need-node carve/dashboard/parts/node_modules/.installed ## the dashboard's front-end parts, as pinned in carve/dashboard/parts
	@carve/dashboard/parts/build.sh carve/dashboard/page/parts
check-parts: need-node carve/dashboard/parts/node_modules/.installed
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && carve/dashboard/parts/build.sh "$$tmp" && diff -r carve/dashboard/page/parts "$$tmp" \
	 || { echo "the dashboard's parts are not what is pinned: run make dashboard-parts" >&2; exit 1; }

.PHONY: check-generated
check-generated: $(GENERATORS)
	@cd systems/count && PATH=$(TOOLS):$$PATH && buf lint && tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT \
	 && buf generate -o "$$tmp" && buf build --as-file-descriptor-set --exclude-source-info -o "$$tmp/count.binpb" \
	 && diff -r rpc "$$tmp/rpc" && cmp count.binpb "$$tmp/count.binpb" || { echo "generated code is not what the contract gives: run make generate" >&2; exit 1; }
	@cd systems/emojify && PATH=$(TOOLS):$$PATH && buf lint && tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT \
	 && buf generate -o "$$tmp" && diff -r rpc "$$tmp/rpc" || { echo "generated code is not what the contract gives: run make generate" >&2; exit 1; }

.PHONY: bench-count
bench-count: build deps ## 10,000,000 draws: our service, as published, Node
	@go run ./bench/count

.PHONY: bench-gateway
bench-gateway: build ## pass-through (plain, TLS, HTTP/2), shadowing and recording against nginx, HAProxy, Envoy
	@go run ./bench/gateway

.PHONY: load-corpus
load-corpus: need-go ## what load plans send, against what their own tools sent
	@go test -count=1 -v ./load/corpustest

.PHONY: bench-load
bench-load: build ## CPU per request sent, against wrk, oha, hey, k6, vegeta
	@go run ./bench/load

.PHONY: bench-compare
bench-compare: build ## a server compared with itself 200 times, and with one 3 % slower
	@go run ./bench/duel

FIND_NODE := e2e/frameworks/testdata/services/node
.PHONY: bench-find
bench-find: build need-node $(FIND_NODE)/node_modules/.installed ## whittle find and profile on a small service of each framework: endpoint, line, share, smells, advice
	@go run ./e2e/frameworks/find $(ARGS)

.PHONY: bench-ingest
bench-ingest: build ## an event kept: ours, bare net/http
	@go run ./bench/ingest $(ARGS)

.PHONY: proof
proof: need-go ## the mutation campaign, PROOF_SEEDS (20) runs of each pair: what whittle finds of what can be wrong, and how many users meet it
	@PROOF_SEEDS=$${PROOF_SEEDS:-20} go test ./e2e/campaign -count=1 -timeout 0 -v

.PHONY: fleet-sim
fleet-sim: need-go ## FLEET_STEPS (ten million) steps of simulated fleets
	@FLEET_STEPS=$${FLEET_STEPS:-10000000} go test ./carve/fleet/simtest -count=1 -timeout 2h -v -run Fleets

.PHONY: fleet-campaign
fleet-campaign: need-go ## FLEET_ROUNDS (36) faults of real gateways and NATS servers, each in the middle of a step or a rollback
	@FLEET_ROUNDS=$${FLEET_ROUNDS:-36} go test ./e2e/fleet -count=1 -timeout 2h -v -run Faults

.PHONY: bench-fleet
bench-fleet: need-go ## what a fleet costs: its NATS servers, the gateway that leads and the others
	@go test ./e2e/fleet -run '^$$' -bench . -benchtime 1x -timeout 1h | grep -E '^(Benchmark|FAIL|cpu)'

.PHONY: soak
soak: need-go ## everything at once for DURATION (10m): faults, reloads, restarts, real clients, every response checked
	@go test ./e2e/soak -count=1 -timeout 0 -v -run TestSoak -args -for $${DURATION:-10m} -many 3 $(ARGS)

.PHONY: audit-ingest
audit-ingest: deps ## kill, tear, flip and fill for AUDIT_ROUNDS (200), and count what was lost
	@AUDIT_ROUNDS=$${AUDIT_ROUNDS:-200} go test -count=1 -timeout 2h -v ./e2e/ingest ./systems/ingest/stream/embedded | grep -E 'AUDIT|^(---|FAIL|ok)'

.PHONY: check-all
check-all: deps $(CASCADE) ## everything at full length: simulations, campaigns, soak, corpora, packaging, other clocks; hours
	@go test -vet=off -count=1 -timeout 4h ./...
	@$(MAKE) race lint deploy-check release-check clock-test fleet-sim fleet-campaign audit-ingest soak proof load-corpus bench-find

# The rooms that read or write times, with the clock of all that they build moved.
CLOCK_ROOMS := ./load/... ./record/... ./contract/... ./systems/ingest/... ./carve/config
.PHONY: clock-test
clock-test: deps ## the rooms that know dates, on a new year, a leap day, at a change to summer time and in another zone
	@e2e/with-clock 2027-01-01T00:00:00Z go test -short -vet=off $(CLOCK_ROOMS)
	@e2e/with-clock 2028-02-29T23:59:59Z go test -short -vet=off $(CLOCK_ROOMS)
	@TZ=Europe/Berlin e2e/with-clock 2024-03-31T03:00:00+02:00 go test -short -vet=off $(CLOCK_ROOMS)
	@TZ=Asia/Kathmandu go test -short -count=1 -vet=off $(CLOCK_ROOMS)

.PHONY: fuzz
fuzz: need-go ## each fuzz target for FUZZTIME (10s)
	@for pkg in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$pkg | grep ^Fuzz || test $$? = 1); do \
	  echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $${FUZZTIME:-10s} $$pkg; done; done

.PHONY: clean
clean: ## all that was built or installed here
	@rm -rf $(BIN) out .cache $(TOOLS) $(CASCADE) $(NODE_ROOMS:%=%/node_modules) e2e/frameworks/testdata/services/node/node_modules carve/dashboard/parts/node_modules
