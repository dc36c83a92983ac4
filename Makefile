# "make help" lists the targets.

# The Go toolchain that scripts/setup.sh fetched comes first in PATH.
export PATH := $(CURDIR)/.cache/go/bin:$(PATH)
export CGO_ENABLED := 1
# Programs and tests share what is compiled, in each folder.
export GOFLAGS := $(GOFLAGS) -trimpath

# The release in work; CHANGELOG.md says what it changes.
RELEASE := 0.2.0
VERSION := $(RELEASE)-dev+$(shell git describe --always --dirty 2>/dev/null || echo unknown)
# -buildvcs=false: a copy without its git history builds like a clone.
GO_BUILD := go build -buildvcs=false -ldflags '-X hce/dc/internal/cli/command.version=$(VERSION)'
FUZZTIME ?= 1m

# Tools of the tests, pinned in tools/go.mod.
TOOL := go tool -modfile=$(CURDIR)/tools/go.mod
GOTESTSUM := $(TOOL) gotestsum --format pkgname-and-test-fails --format-icons text --format-hide-empty-pkg --hide-summary=skipped
RESULTS := $(CURDIR)/.cache/tests

# Temporary files of tests.
SCRATCH = $(shell scripts/testdir.sh)

# Rules about values start no goroutine: their tests run without the race detector. So do the operations of one db-task
# after the other, the simulated week, which is one long computation, and the programs and commands that are a process for
# each call: the packages below them have tests of their own with it.
PLAIN := ./internal/wire/... ./internal/web/... ./canonical ./robots ./sitemap ./warc \
	$(addprefix ./internal/process/,article author chain choice contenthash document/... entry fallback fields extractor language/... linkresolve markup media \
	metadata multiitem office outline pdf pubdate ranking reading redirectlink render scraper template writer) ./extract ./internal/storage/expr/... ./internal/storage/conformance/... \
	$(addprefix ./internal/cli/,crawlprogram export extraction pages parquetfile processprogram referrers sitespec strict wacz warcimport) \
	./internal/daemon/simulation ./cmd/... ./internal/layertest ./internal/config ./examples ./packaging ./scripts

.DEFAULT_GOAL := help
.PHONY: help setup setup-test setup-bench build test unit noskip judges e2e soak soak-archive soak-cluster demo captures bench bench-scale bench-slow bench-first bench-cluster bench-export bench-process bench-wikis profile bench-sites bench-requests fuzz lint man package clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo '  make demo SITE=https://example.org/   crawl that site, politely'
	@echo '  make demo DIR=/some/html/folder       serve that folder and crawl it without delay'

setup:
	@scripts/setup.sh

setup-test:
	@scripts/setup.sh test

setup-bench:
	@scripts/setup.sh bench

build: setup ## build the programs into bin/
	@mkdir -p bin
	@$(GO_BUILD) -o bin/ ./cmd/... ./examples/siteserver ./examples/hostileweb ./examples/demo ./examples/captures

# -vet=off below: lint has vetted everything. GORACE: a process with the race detector sleeps a
# second before its end otherwise.
# Unit and end-to-end tests run side by side: both mostly wait for servers and disks.
test: setup-test lint build ## set up what the tests need and run all of them
	@rm -rf $(RESULTS)
	@$(MAKE) --no-print-directory -j2 unit e2e
	@$(MAKE) --no-print-directory noskip

unit: ## run the tests of the packages
	@mkdir -p $(RESULTS)
	@go list ./... | grep -vxF "$$(go list $(PLAIN))" >$(RESULTS)/race
	GORACE=atexit_sleep_ms=0 TMPDIR=$(SCRATCH) $(GOTESTSUM) --jsonfile-timing-events $(RESULTS)/race.json -- -vet=off -timeout 30m -race $$(cat $(RESULTS)/race)
	TMPDIR=$(SCRATCH) $(GOTESTSUM) --jsonfile-timing-events $(RESULTS)/plain.json -- -vet=off -timeout 30m $(PLAIN)
	cd bench && GORACE=atexit_sleep_ms=0 $(GOTESTSUM) --jsonfile-timing-events $(RESULTS)/bench.json -- -vet=off -race ./...
	cd tools/train && $(GOTESTSUM) --jsonfile-timing-events $(RESULTS)/train.json -- -vet=off ./...
	cd tools/trainlang && $(GOTESTSUM) --jsonfile-timing-events $(RESULTS)/trainlang.json -- -vet=off ./...

# No test may skip on a machine that scripts/setup.sh has prepared.
noskip:
	@scripts/noskip.sh $(RESULTS)/*.json

judges: ## print how many cases the tables of the web standards have, and how many pass
	@mkdir -p .cache
	@go test -count=1 -v -run '^(TestURLStandard|TestResolve|TestSamples|TestFiles|TestAddresses|TestPrescan|TestLinkSources|TestRFC9309.*|Test.*Corpus)$$' \
		./canonical ./internal/web/feed ./sitemap ./robots ./internal/web/charset ./internal/web/links ./internal/process/extractor >.cache/judges 2>&1 || { cat .cache/judges; exit 1; }
	@sed -n 's/^.*judge: /judge: /p' .cache/judges

# -count=1: these tests run the programs in bin/, which Go's test cache does not know.
e2e: build ## run the programs against real sites, databases and browsers
	@mkdir -p $(RESULTS)
	TMPDIR=$(SCRATCH) $(GOTESTSUM) --jsonfile-timing-events $(RESULTS)/e2e.json -- -vet=off -tags e2e -count=1 -timeout 45m ./e2e/...

# SOAK_KILLS: how many processes are killed, 300 unless set. SEED repeats a run.
soak: setup-test build ## kill all programs hundreds of times during real crawls; not part of test
	TMPDIR=$(SCRATCH) go test -tags 'e2e soak' -count=1 -timeout 3h -v -run '^(TestSoak|TestPeersCannotExhaustTheDaemon)$$' ./e2e

soak-archive: setup-test ## 50 clients of an archive for a minute; not part of test
	TMPDIR=$(SCRATCH) go test -tags soak -count=1 -timeout 10m -v -run 'ForAMinute$$' ./internal/apps/archive/server

# SOAK_FAULTS: how many faults, 300 unless set. SEED repeats a run. SOAK_SAVE: a folder for what a
# run leaves. It needs root, for disks of its own.
soak-cluster: setup-test build ## break the machines of clusters hundreds of times during real crawls; not part of test
	TMPDIR=$(SCRATCH) go test -tags 'e2e soak' -count=1 -timeout 3h -v -run '^TestClusterSoak$$' ./e2e

man: build ## write the manual pages and shell completions to share/
	@scripts/man.sh bin share

package: man ## make dist/dc.tar.gz: programs, ini files, units, pages, as they are installed
	@scripts/package.sh dist

demo: build ## crawl a site from start to end and show it
	@bin/demo $${SITE:+-site "$$SITE"} $${DIR:+-dir "$$DIR"} $${KEEP:+-keep}

captures: build ## write what terminals show during a crawl to docs/captures
	@bin/captures

# BENCH_ARGS: flags of bin/bench, such as -quick; see docs/performance.md.
bench: setup-bench build ## compare with other crawlers on the same pages
	@cd bench && $(GO_BUILD) -o ../bin/bench .
	@bin/bench $(BENCH_ARGS)

# BENCH_URLS: the largest number of known URLs. Ten million take hours.
BENCH_URLS ?= 1000000
bench-scale: setup-bench build ## what a page costs at 10,000 URLs, 100,000 and so on
	@cd bench && $(GO_BUILD) -o ../bin/bench .
	@bin/bench -scale $(BENCH_URLS) $(BENCH_ARGS)

bench-slow: setup-bench build ## a fast host together with a thousand slow ones
	@cd bench && $(GO_BUILD) -o ../bin/bench .
	@bin/bench -slow 1000 $(BENCH_ARGS)

bench-first: setup-bench build ## time from SITE_NEW to the first request of a site, in a warm daemon
	@cd bench && $(GO_BUILD) -o ../bin/bench .
	@bin/bench -first 100 $(BENCH_ARGS)

# CLUSTER_PAGES: pages of 200 hosts, crawled by clusters of 1, 2, 4 and 8 nodes on this machine.
CLUSTER_PAGES ?= 500000
bench-cluster: setup-bench build ## clusters of several sizes on one web, and what limits more machines
	@cd bench && $(GO_BUILD) -o ../bin/bench .
	@bin/bench -cluster $(CLUSTER_PAGES) $(BENCH_ARGS)

# EXPORT_PAGES: the size of the site that is exported.
EXPORT_PAGES ?= 1000000
bench-export: setup-test build ## memory and speed of hce export on a site of a million pages, killed and continued
	@cd bench && $(GO_BUILD) -o ../bin/bench .
	@bin/bench -export $(EXPORT_PAGES) $(BENCH_ARGS)

profile: setup-bench build ## where the processor time of a page goes; writes it into docs/performance.md
	@cd bench && $(GO_BUILD) -o ../bin/bench .
	@bin/bench -profile .cache/profiles -document docs/performance.md $(BENCH_ARGS)

# OLD_BUILD: the commit whose build bench-process compares with this one.
OLD_BUILD ?= b5b1086
bench-process: setup-bench build ## what processing costs now, in an older build, and with Colly and go-trafilatura
	@cd bench && $(GO_BUILD) -o ../bin/bench .
	@scripts/oldbuild.sh $(OLD_BUILD) .cache/builds/$(OLD_BUILD)
	@bin/bench -old .cache/builds/$(OLD_BUILD) -sites postgresql,python -runs 3 $(BENCH_ARGS)

bench-wikis: build ## traps of installed wikis, blogs, git viewers and listings, with and without rules (root; docs/traps.md)
	@scripts/wikis.sh

# Debian packages with its pages: postgresql-doc-15 debian-reference-en debian-reference-de debian-reference-es
# debian-reference-fr aptitude-doc-es aptitude-doc-ru maint-guide-ru debian-faq-ru.
bench-search: setup-test ## how good hce-search ranks 1,300 questions about installed documentation, and SQLite FTS5
	go test -vet=off -tags sqlite_fts5 -run '^$$' -bench Quality -benchtime 1x -timeout 30m ./internal/apps/search/index

bench-sites: setup-test ## compare a site of a million URLs with one of ten thousand
	go test ./internal/storage/sqlstore -run '^$$' -bench SiteSize -benchtime 20x -timeout 30m

# A minute on each database, 200 clients that ask once a second each.
bench-requests: setup-test build ## how long answers take while a site is crawled
	REQUESTS_TIME=60s REQUESTS_PACE=1s go test -tags e2e -count=1 -timeout 10m -v -run '^TestRequestsDuringACrawl$$' ./e2e

fuzz: setup-test ## run every fuzz target for FUZZTIME (1m), and new random sequences
	@scripts/fuzz.sh $(FUZZTIME)

lint: setup ## gofmt, vet, staticcheck and the measures of the code
	@unformatted=$$(gofmt -l $$(find . -name '*.go' -not -path './.cache/*')); test -z "$$unformatted" || { echo "gofmt: $$unformatted" >&2; exit 1; }
	go vet -tags e2e ./...
	cd bench && go vet ./...
	$(TOOL) staticcheck -tags e2e ./...
	cd bench && $(TOOL) staticcheck ./...
	@go run -C tools ./house ..

clean: ## remove what the build made
	rm -rf bin dist share
