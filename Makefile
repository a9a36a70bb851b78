# transplant: see README.md. Every target is explained by "make help".
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The name of a scenario, or the path of its file.
SCENARIO ?= seed-loss
BACKEND  ?= embedded
SAMPLE   ?= 3
# Which scenarios catalogue and nightly run: names or paths, only those of a tier or of several (smoke,core), and one part of them, such as 2/5.
STORIES  ?=
TIER     ?=
SHARD    ?=
JOBS     ?= 1
# No story of the catalogue begins later than this after the first; 0s lets all be told.
BEGIN_WITHIN ?= 0s
# Repeats the dice of stories, and which points of sweeps are the SAMPLE; rolled when not given.
SEED     ?=
OUT      ?= out/$(basename $(notdir $(SCENARIO)))
FUZZTIME ?= 5m
# On a slow or busy machine, 2 or 3 gives every step, RTO and API downtime so many times as long.
TIMEOUT_MULTIPLIER ?= 1
# For backend kind, where the published node image cannot be pulled: that of "make kind-image".
NODE_IMAGE ?= $(TRANSPLANT_NODE_IMAGE)
# What is neither named nor of a tier is all: each scenario of the catalogue has the label tier.
SELECTED  = $(STORIES) $(if $(TIER),-l 'tier in ($(TIER))',$(if $(STORIES),,-l tier)) $(if $(SHARD),--shard $(SHARD))
RUN      := bin/transplant run --backend $(BACKEND) $(if $(NODE_IMAGE),--node-image $(NODE_IMAGE)) --timeout-multiplier $(TIMEOUT_MULTIPLIER) $(if $(SEED),--seed $(SEED))

.PHONY: help
help: ## Explain the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nVariables: SCENARIO=%s (a name or a file) BACKEND=%s OUT=%s SAMPLE=%s\n' $(SCENARIO) $(BACKEND) $(OUT) $(SAMPLE)
	@printf 'TIER=%s (smoke, core, nightly, or several: smoke,core) STORIES="%s" SHARD=%s (2/5 is the second of five parts)\n' '$(TIER)' '$(STORIES)' '$(SHARD)'
	@printf 'JOBS=%s (landscapes at once in catalogue and sweep; two on two cores take longer each, and less together)\n' $(JOBS)
	@printf 'SEED=%s (a number repeats the dice, and the points that SAMPLE takes; rolled and printed by each run when empty)\n' $(SEED)
	@printf 'TIMEOUT_MULTIPLIER=%s (2 or 3 on a slow or busy machine), MUTANTS="a b" (some instead of all)\n' $(TIMEOUT_MULTIPLIER)

##@ The two commands of the README

.PHONY: scenario
scenario: build ## Run SCENARIO (default: the loss of a seed) on BACKEND and print the verdict
	$(RUN) $(SCENARIO) --out $(OUT)

.PHONY: unit
unit: ## Run the tests that start no program of Kubernetes, Prometheus, browser or Docker (two minutes; after a change, seconds)
	@# What others import comes first: the first answer is that of the package which was changed. Those that test
	@# what lies elsewhere in the tree, as cmd and the root package do, come late.
	@# A test that starts Kubernetes although it is asked not to does not find it.
	TRANSPLANT_KUBERNETES_BIN=/none-in-make-unit go test -short $$(go list -deps -f '{{with .Module}}{{if .Main}}{{$$.ImportPath}}{{end}}{{end}}' ./sim/... ./cmd/... ./...)

.PHONY: test
test: build controlplane ## Run all tests that need no Docker; ARTIFACTS=out/tests keeps what they show as tables and pictures
	@# one package at a time: most of them start API servers, and share the machine's cores badly
	$(if $(ARTIFACTS),@mkdir -p $(ARTIFACTS))
	@# -short=false wins over a GOFLAGS of -short: this is never part of the tests
	go test -short=false -p 1 -count=1 -shuffle=on -timeout 40m $(if $(ARTIFACTS),-artifacts -outputdir $(abspath $(ARTIFACTS))) ./...

.PHONY: e2e
e2e: build controlplane ## Tell the catalogue and try the controllers as suites of e2e-framework; LABELS="fault=loseCluster" for some (long)
	BACKEND=$(BACKEND) TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) TIMEOUT_MULTIPLIER=$(TIMEOUT_MULTIPLIER) go test -tags e2e -count=1 -timeout 5h -v ./e2e/suites -args $(if $(LABELS),-labels $(LABELS))

.PHONY: test-kind
test-kind: controlplane ## Run the tests that need Docker; NODE_IMAGE=name takes that instead of the published node image
	TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) go test -short=false -tags docker -p 1 -count=1 -timeout 30m ./clusters/kind

.PHONY: attack-kind
attack-kind: build controlplane ## Run seed-loss and planned-migration on kind, and attack the shoot from pods (needs Docker); NODE_IMAGE=name as in test-kind
	TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) go test -short=false -tags docker -run '^TestKind_' -count=1 -timeout 30m -v ./e2e

.PHONY: oracle
oracle: ## Run the tests against cases with known answers (part of test)
	go test -count=1 -run Oracle ./api/... ./controllers/... ./cmd/transplant/explain/...

##@ Building

.PHONY: build
build: ## Build bin/transplant
	@mkdir -p bin
	@# static, for it is the content of images that hold nothing else
	CGO_ENABLED=0 go build -trimpath -o bin/transplant ./cmd/transplant

.PHONY: controlplane
controlplane: build ## Build the Kubernetes programs into the cache (minutes, once)
	bin/transplant controlplane

.PHONY: kind-image
kind-image: ## Build a node image for kind, where the published one cannot be pulled (needs ".ci/docker up")
	go run ./clusters/kind/image

.PHONY: chaos-mesh
chaos-mesh: ## Build Chaos Mesh's images and chart, and helm, where published ones cannot be pulled (needs ".ci/docker up")
	GOBIN=$(CURDIR)/out/bin go install helm.sh/helm/v3/cmd/helm@v3.22.0
	go run ./clusters/kind/chaosmesh -chart out/chaos-mesh

.PHONY: generate
generate: ## Generate deep copies, CRDs and schemas anew; leaves no diff
	go generate ./...

.PHONY: dashboards
dashboards: ## Generate the dashboards and alert rules anew (part of generate)
	go generate ./dashboards

##@ Checking

.PHONY: lint
lint: ## Formatting, vet, references to documents, bounds of the tree
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go vet -tags e2e,docker ./e2e/... ./clusters/kind
	@# flags of the real build, so that Kubernetes is compiled once
	cd clusters/controlplane && CGO_ENABLED=0 go vet -trimpath .
	go vet -C .ci/bill ./...
	@# prints how many references lead nowhere, and how far the tree is from its bounds
	go test -count=1 -v -run '^TestReferences_InWhateverFile|^TestBounds$$' .

.PHONY: golangci
golangci: ## All linters (builds them first: minutes)
	@# a cache of its own: findings kept from another checkout name files by where that one lay, and no exclusion fits them
	GOLANGCI_LINT_CACHE=$(CURDIR)/.cache/golangci go tool -modfile=.ci/lint/go.mod golangci-lint run --allow-parallel-runners --timeout 15m ./...

.PHONY: sbom
sbom: ## Write the bills of materials (CycloneDX) of all Go modules that users run into out/bill
	go run -C .ci/bill . -out $(CURDIR)/out/bill

.PHONY: licenses
licenses: ## Write the bills, and the licence of every module in them; fails on one that does not fit Apache-2.0
	go run -C .ci/bill . -out $(CURDIR)/out/bill -check

.PHONY: race
race: build controlplane ## Run the tests with the race detector
	go test -short=false -race -count=1 -shuffle=on -timeout 60m ./...

.PHONY: mutants
mutants: build controlplane ## Plant bugs one by one, in the product and then in the harness, and see that each is caught (long); MUTANTS="a b" for some
	go run ./e2e/mutants -out out/mutants -timeout-multiplier $(TIMEOUT_MULTIPLIER) $(MUTANTS)

.PHONY: catalogue
catalogue: build ## Run all scenarios, or those of TIER=core, or STORIES="a b", JOBS at once, and SAMPLE points of each sweep; none later than BEGIN_WITHIN
	$(RUN) $(SELECTED) --jobs $(JOBS) --sample $(SAMPLE) --begin-within $(BEGIN_WITHIN) --out out/catalogue

.PHONY: nightly
nightly: TIER = nightly
nightly: build ## Run the scenarios of tier nightly, JOBS at once; SHARD=2/5 for the second of five parts
	$(RUN) $(SELECTED) --jobs $(JOBS) --sample $(SAMPLE) --out out/nightly

.PHONY: sweep
sweep: build ## Run every point of every sweep (hours)
	$(RUN) $$(grep -l "^  sweep:" scenarios/*/*.yaml) --jobs $(JOBS) --out out/sweep

.PHONY: soak
soak: build ## Run SCENARIO twenty times in a row; all must pass (long)
	@mkdir -p out
	@for i in $$(seq 20); do $(RUN) $(SCENARIO) --out out/soak-$$i >out/soak-$$i.log 2>&1 || { tail -30 out/soak-$$i.log; exit 1; }; echo "$$i of 20: Passed"; done

.PHONY: fuzz
fuzz: ## Feed the parser of scenarios with what nobody would write, for FUZZTIME; its seeds are part of test
	go test -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME) ./sim/scenario

.PHONY: bench
bench: build controlplane ## Print the numbers that steer choices
	go test -run '^$$' -bench LinkOverhead ./clusters/link
	go test -run '^$$' -bench 'Landscape|PlannedMigration|Evacuation' -benchtime 1x -timeout 40m ./e2e
	go test -run '^$$' -bench CareOfASeed -benchtime 1x ./controllers/care
	@# answers 2,000 questions, in 5 s at most on a machine that does nothing else
	go test -run '^$$' -bench Maintenance -benchtime 1x ./cmd/transplant/explain

.PHONY: bench-watching
bench-watching: build controlplane ## Compare a story with and without its probes and a Prometheus, twelve times (long)
	go test -run '^$$' -bench Watching -benchtime 12x -timeout 90m ./e2e

.PHONY: bench-kind
bench-kind: build controlplane ## Compare the backends in one run (needs Docker, as test-kind); NODE_IMAGE=name as there
	TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) go test -tags docker -run '^$$' -bench Backends -benchtime 1x -timeout 40m ./e2e

.PHONY: clean
clean: ## Remove what was built here; the cache stays
	rm -rf bin out
