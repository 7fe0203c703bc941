# Everything a person runs, each with a line of help. npm scripts do the work, on the Node that the lock file pins.
SHELL := /bin/bash
.DEFAULT_GOAL := help
ONCE ?=

INSTRUMENT ?=
ARGS ?=
BINDIR ?=
VERSION ?=
URL ?=

.PHONY: help setup demo test quick test-calendar unit e2e e2e-peers e2e-instrument e2e-kernel e2e-node lint format generate build images release plugin cluster clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: node_modules/.svc-setup ## Install the pinned dependencies (first run: about a minute)

node_modules/.svc-setup: package-lock.json
	@scripts/setup.sh
	@touch $@

demo: setup ## Bring up a real control plane, three nodes and the whole product, and show it (ONCE=1: run the tour once and exit)
	@npm run -s demo -- $(if $(ONCE),--once,)

test: setup ## Lint, types, unit and integration tests, then e2e on a real control plane; last line: N passed, N failed, N skipped
	@npm run -s test:all

unit: setup ## Only what needs nothing but Node (under two minutes)
	@npm run -s test

quick: setup ## What the working tree's change can affect: format, lint, types, generated files, the unit tests that import it
	@npm run -s test:quick

test-calendar: setup ## The tests and the demo a day, 40 and 400 days ahead and across a leap day (needs libfaketime)
	@npm run -s test:calendar

e2e: setup ## Only the tests against a real API server (brings its own cluster)
	@npm run -s e2e

e2e-peers: setup ## Tests beside real peers: prometheus-adapter, Thanos, CoreDNS, Flux' kustomize-controller, Argo CD's engine (built with Go on the first run)
	@npm run -s e2e:peers

e2e-instrument: setup ## The real eBPF instrument on this machine's kernel, with real traffic (INSTRUMENT=/path/to/binary, INSTRUMENT_VERSION=v0.10; as root)
	@INSTRUMENT="$(INSTRUMENT)" INSTRUMENT_VERSION="$(INSTRUMENT_VERSION)" npm run -s e2e:instrument

e2e-kernel: setup ## The product on a kernel with kprobes, in a virtual machine (needs QEMU; INSTRUMENT=/path/to/binary, else a stand-in)
	@INSTRUMENT="$(INSTRUMENT)" npm run -s e2e:kernel -- $(ARGS)

e2e-node: setup ## The product on a real node: kubelet, containerd, kube-proxy, enforced policies (Linux, as root; ARGS=--help for options)
	@npm run -s e2e:node -- $(ARGS)

lint: setup ## The type checker, ESLint with the layer rule, and Prettier
	@npm run -s lint

format: setup ## Let Prettier rewrite the sources
	@npm run -s format

generate: setup ## Regenerate every committed file that follows from the sources (CRDs, schemas, manifests, chart, references)
	@npm run -s generate

build: setup ## Bundle the programs and the query page into dist/, as the image does
	@npm run -s build

images: setup ## Both images for amd64 and arm64 as OCI archives in release/, by docker, podman or buildah (ARGS="--build-arg BASE=…")
	@npm run -s images -- $(ARGS)

release: setup ## Fill release/ with everything that is published (VERSION=x.y.z URL=https://where it will be)
	@npm run -s release -- $(if $(VERSION),--version=$(VERSION),) $(if $(URL),--url=$(URL),) $(ARGS)

plugin: build ## Build, and put the kubectl plugin (kubectl svc) into BINDIR, ~/.local/bin unless set
	@BINDIR="$(BINDIR)" scripts/install-plugin.sh

cluster: setup ## A bare cluster in the foreground: control plane and 3 process nodes, until Ctrl-C
	@npm run -s cluster

clean: ## Remove build output and installed dependencies (caches outside the checkout stay)
	rm -rf dist release node_modules coverage
