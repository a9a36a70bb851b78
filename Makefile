# transplant: see README.md. "make help" explains every target.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The name of a scenario, or the path of its file.
SCENARIO ?= seed-loss
BACKEND  ?= embedded
SAMPLE   ?= 3
# The scenarios that catalogue and nightly run: names or paths, only those of a tier or of several tiers (smoke,core),
# and one part of them, such as 2/5.
SCENARIOS  ?=
TIER     ?=
SHARD    ?=
JOBS     ?= 1
# The random seed of runs. It also chooses the SAMPLE points of sweeps. If it is empty, each run chooses and prints one.
SEED     ?=
OUT      ?= out/$(basename $(notdir $(SCENARIO)))
FUZZTIME ?= 5m
# For a slow or busy machine: 2 or 3 multiplies all deadlines, and the goals for RTO and API downtime.
TIMEOUT_MULTIPLIER ?= 1
# For backend kind, if Docker cannot pull the published node image: the image of "make kind-image".
NODE_IMAGE ?= $(TRANSPLANT_NODE_IMAGE)
# Without names and tier these are all scenarios, because each scenario of the catalogue has the label tier.
SELECTED  = $(SCENARIOS) $(if $(TIER),-l 'tier in ($(TIER))',$(if $(SCENARIOS),,-l tier)) $(if $(SHARD),--shard $(SHARD))
RUN      := bin/transplant run --backend $(BACKEND) $(if $(NODE_IMAGE),--node-image $(NODE_IMAGE)) --timeout-multiplier $(TIMEOUT_MULTIPLIER) $(if $(SEED),--seed $(SEED))

.PHONY: help
help: ## Explain the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nVariables: SCENARIO=%s (a name or a file) BACKEND=%s OUT=%s SAMPLE=%s\n' $(SCENARIO) $(BACKEND) $(OUT) $(SAMPLE)
	@printf 'TIER=%s (smoke, core, nightly, or several: smoke,core) SCENARIOS="%s" SHARD=%s (2/5 is the second of five parts)\n' '$(TIER)' '$(SCENARIOS)' '$(SHARD)'
	@printf 'JOBS=%s (landscapes at once in catalogue, nightly and sweep; with two on two cores each takes longer, all take less)\n' $(JOBS)
	@printf 'SEED=%s (the random seed; it also chooses the SAMPLE points of sweeps; if empty, each run chooses and prints one)\n' $(SEED)
	@printf 'TIMEOUT_MULTIPLIER=%s (2 or 3 on a slow or busy machine), MUTANTS="a b" (some instead of all)\n' $(TIMEOUT_MULTIPLIER)

##@ The two commands of the README

.PHONY: scenario
scenario: build ## Run SCENARIO (default: seed-loss) on BACKEND and print the verdict
	$(RUN) $(SCENARIO) --out $(OUT)

.PHONY: unit
unit: ## Run the tests that start no program of Kubernetes, Prometheus, browser or Docker (one to three minutes; the first answer after seconds)
	@# What others import comes first: the first answer is that of the package which was changed. Those that test
	@# what lies elsewhere in the tree, as cmd and the root package do, come late.
	@# A test that starts Kubernetes although it is asked not to does not find it.
	TRANSPLANT_KUBERNETES_BIN=/none-in-make-unit go test -short -parallel 8 $$(go list -deps -f '{{with .Module}}{{if .Main}}{{$$.ImportPath}}{{end}}{{end}}' ./sim/... ./cmd/... ./...)

# What all parts of make test have in common. -short=false wins over a GOFLAGS of -short, which would skip tests.
GOTEST = go test -short=false -timeout 40m $(if $(ARTIFACTS),-artifacts -outputdir $(abspath $(ARTIFACTS)))
# Binaries of tests that run each time are kept, so that they are not linked each time. Their names are the last parts
# of the paths of packages, which must differ.
KEPT   = -o bin/tests/ -ldflags='-s -w'
ANEW   = $(KEPT) -count=1 -shuffle=on

.PHONY: test
test: build controlplane ## Run all tests that need no Docker; ARTIFACTS=out/tests keeps what they show as tables and pictures, SHUFFLE=on uses no cached results
	@mkdir -p bin/tests $(ARTIFACTS)
	@# Which packages start Kubernetes: see clusters/integrationtest. In another package it is not found. Linking comes
	@# first: beside it, what scenarios expect comes too late. Then three packages run at a time, with three tests in
	@# each: more would starve API servers. The landscapes of e2e come last and alone.
	failed=0; \
	integration=$$(go list -test -f '{{.ImportPath}} {{.Deps}}' ./... | sed -n 's|^\([^ ]*\)\.test .*/clusters/integrationtest[] ].*|\1|p'); \
	others=$$(go list ./... | grep -vxF "$$integration"); \
	TRANSPLANT_KUBERNETES_BIN=/none-in-these $(GOTEST) -parallel 8 $(if $(SHUFFLE),-shuffle=$(SHUFFLE)) $$others || failed=1; \
	go test -c $(KEPT) $$integration || failed=1; \
	$(GOTEST) $(ANEW) -p 3 -parallel 3 $$(grep -v '/e2e$$' <<<"$$integration") || failed=1; \
	$(GOTEST) $(ANEW) -parallel 4 $$(grep '/e2e$$' <<<"$$integration") && exit $$failed

.PHONY: e2e
e2e: build controlplane ## Run the catalogue and test the controllers as suites of e2e-framework (long); LABELS="fault=loseCluster" for some
	BACKEND=$(BACKEND) TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) TIMEOUT_MULTIPLIER=$(TIMEOUT_MULTIPLIER) go test -tags e2e -count=1 -timeout 5h -v ./e2e/suites -args $(if $(LABELS),-labels $(LABELS))

.PHONY: test-kind
test-kind: controlplane ## Run the tests that need Docker; NODE_IMAGE=name takes that instead of the published node image
	TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) go test -short=false -tags docker -p 1 -count=1 -timeout 30m ./clusters/kind ./clusters/kind/docker

.PHONY: attack-kind
attack-kind: build controlplane ## Run seed-loss and planned-migration on kind, and attack the shoot from pods (needs Docker); NODE_IMAGE=name as in test-kind
	TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) go test -short=false -tags docker -run '^TestKind_' -count=1 -timeout 30m -v ./e2e

.PHONY: test-job
test-job: build controlplane ## Run the Jobs of docs/examples on a kind cluster (needs Docker); NODE_IMAGE=name as in test-kind
	TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) go test -short=false -tags docker -run '^TestKubernetesJob_' -count=1 -timeout 60m -v ./e2e

.PHONY: test-chaos-mesh
test-chaos-mesh: build controlplane ## Run a scenario for each kind that a real Chaos Mesh does on kind, as "make chaos-mesh" has built it (needs Docker); NODE_IMAGE=name as in test-kind
	PATH="$(CURDIR)/out/bin:$$PATH" TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) go test -short=false -tags docker -run '^TestChaosMesh_' -count=1 -timeout 60m -v ./e2e

.PHONY: contract-kind
contract-kind: build controlplane ## Try an extension in an image against the contract, on kind (needs Docker): two clauses, or all with TRANSPLANT_EXAMPLES=all; NODE_IMAGE=name as in test-kind
	TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) go test -short=false -tags docker -run '^TestContractKind_' -count=1 -timeout 30m -v ./e2e

.PHONY: oracle
oracle: ## Run the tests against cases with known answers (part of test)
	go test -count=1 -run Oracle ./api/... ./controllers/... ./cmd/transplant/explain/...

##@ Building

.PHONY: build
build: ## Build bin/transplant
	@mkdir -p bin
	@# static, because images contain this binary and nothing else
	CGO_ENABLED=0 go build -trimpath -o bin/transplant ./cmd/transplant

.PHONY: controlplane
controlplane: build ## Build the Kubernetes programs into the cache (takes minutes, once)
	bin/transplant controlplane

.PHONY: kind-image
kind-image: ## Build a node image for kind, if Docker cannot pull the published one (needs ".ci/docker up")
	go run ./clusters/kind/image

.PHONY: chaos-mesh
chaos-mesh: ## Build Chaos Mesh's images and chart, and helm, if the published ones cannot be pulled (needs ".ci/docker up")
	GOBIN=$(CURDIR)/out/bin go install helm.sh/helm/v3/cmd/helm@v3.22.0
	go run ./clusters/kind/chaosmesh -chart out/chaos-mesh

.PHONY: generate
generate: ## Generate deep copies, CRDs, schemas and tables again; leaves no diff
	go generate ./...

.PHONY: grafana
grafana: build ## Load the runs in RUNS (default: out), and start Prometheus and Grafana with the dashboards (needs Docker)
	bin/transplant dashboards up $(or $(RUNS),out)

.PHONY: dashboards
dashboards: ## Generate the dashboards and alert rules again (part of generate)
	go generate ./dashboards

.PHONY: snapshot
snapshot: ## Build the archives of a release into out/dist, for amd64 and arm64, and publish nothing
	go tool -modfile=.ci/release/go.mod goreleaser release --snapshot --clean --skip=docker,sign

.PHONY: image
image: ## Build the image of a release from the archive of "make snapshot" (needs Docker, no registry); IMAGE=name
	.ci/image $(IMAGE)

##@ Checking

.PHONY: lint
lint: ## Check formatting, vet, references to documents, and the bounds of the tree
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go vet -tags e2e,docker ./e2e/... ./clusters/kind ./clusters/kind/docker
	@# the same flags as the build, so that Kubernetes is compiled once
	cd clusters/controlplane && CGO_ENABLED=0 go vet -trimpath .
	go vet -C .ci/bill ./...
	@# prints the number of broken references, and the distance of the tree from its bounds
	go test -count=1 -v -run '^TestReferences_InWhateverFile|^TestBounds$$' .

.PHONY: golangci
golangci: ## Run all linters (builds them first, which takes minutes)
	@# a cache of its own: cached findings of another checkout have the paths of that checkout, which no exclusion matches
	GOLANGCI_LINT_CACHE=$(CURDIR)/.cache/golangci go tool -modfile=.ci/lint/go.mod golangci-lint run --allow-parallel-runners --timeout 30m ./...

.PHONY: sbom
sbom: ## Write bills of materials (CycloneDX) of all Go modules that users run into out/bill
	go run -C .ci/bill . -out $(CURDIR)/out/bill

.PHONY: licenses
licenses: ## Write the bills with the licence of every module; fails if a licence is not compatible with Apache-2.0
	go run -C .ci/bill . -out $(CURDIR)/out/bill -check

.PHONY: race
race: build controlplane ## Run the tests with the race detector
	go test -short=false -race -count=1 -shuffle=on -timeout 60m ./...

.PHONY: mutants
mutants: build controlplane ## Plant bugs one by one, in the product and then in the harness, and check that each is caught (long); MUTANTS="a b" for some
	go run ./e2e/mutants -out out/mutants -timeout-multiplier $(TIMEOUT_MULTIPLIER) $(MUTANTS)

.PHONY: example-extensions
example-extensions: build controlplane ## Run what make test leaves out of extensions: all scenarios of those of docs/extensions, and all their planted bugs (hours)
	TRANSPLANT_EXAMPLES=all go test -short=false -run 'Extension|^TestContract_' -parallel 1 -count=1 -timeout 12h -v ./e2e

.PHONY: catalogue
catalogue: build ## Run all scenarios, or those of TIER=core, or SCENARIOS="a b", JOBS at once, and SAMPLE points of each sweep
	$(RUN) $(SELECTED) --jobs $(JOBS) --sample $(SAMPLE) --out out/catalogue

.PHONY: nightly
nightly: TIER = nightly
nightly: build ## Run the scenarios of tier nightly, JOBS at once; SHARD=2/5 for the second of five parts
	$(RUN) $(SELECTED) --jobs $(JOBS) --sample $(SAMPLE) --out out/nightly

.PHONY: sweep
sweep: build ## Run every point of every sweep (hours)
	$(RUN) $$(grep -l "^  sweep:" scenarios/*/*.yaml) --jobs $(JOBS) --out out/sweep

.PHONY: soak
soak: build ## Run SCENARIO twenty times in a row; every run must pass (long)
	@mkdir -p out
	@for i in $$(seq 20); do $(RUN) $(SCENARIO) --out out/soak-$$i >out/soak-$$i.log 2>&1 || { tail -30 out/soak-$$i.log; exit 1; }; echo "$$i of 20: Passed"; done

.PHONY: fuzz
fuzz: ## Fuzz the parser of scenarios for FUZZTIME; test runs its seed inputs
	go test -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME) ./sim/scenario

.PHONY: profile
profile: scenario ## Run SCENARIO, and print where processor time and requests went
	@bin/transplant profile $(OUT)

.PHONY: bench
bench: build controlplane ## Run the benchmarks
	go test -run '^$$' -bench LinkOverhead ./clusters/link
	go test -run '^$$' -bench 'Landscape|PlannedMigration|Evacuation' -benchtime 1x -timeout 40m ./e2e
	go test -run '^$$' -bench CareOfASeed -benchtime 1x ./controllers/care
	@# answers 2,000 questions, in at most 5 s on an idle machine
	go test -run '^$$' -bench Maintenance -benchtime 1x ./cmd/transplant/explain

.PHONY: bench-watching
bench-watching: build controlplane ## Compare a scenario with and without its probes and a Prometheus, twelve times (long)
	go test -run '^$$' -bench Watching -benchtime 12x -timeout 90m ./e2e

.PHONY: bench-kind
bench-kind: build controlplane ## Compare the backends in one run (needs Docker; NODE_IMAGE as for test-kind)
	TRANSPLANT_NODE_IMAGE=$(NODE_IMAGE) go test -tags docker -run '^$$' -bench Backends -benchtime 1x -timeout 40m ./e2e

.PHONY: clean
clean: ## Remove bin and out; the cache stays
	rm -rf bin out
