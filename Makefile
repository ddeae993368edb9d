# The commands of this repository; `make help` lists them.

# Packages with goroutines and shared state: tested a second time under the race detector, with -short.
RACE   := $(wildcard verbs srp miniport scsi/lun scsi/disk cmd test/path)

# Where install puts things; DESTDIR goes in front of all of it.
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
DATADIR    ?= $(PREFIX)/share
SYSTEMDDIR ?= $(PREFIX)/lib/systemd/system
PROGRAMS   := srpd srpctl srptgt
BUILT      ?= build

.DEFAULT_GOAL := help
.PHONY: help build man install run test lint fuzz bench fmt vet levels imports race tools clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 18

build: ## the programs, into build/, without cgo
	CGO_ENABLED=0 go build ./...
	@mkdir -p build
	@CGO_ENABLED=0 go build -o build/ ./cmd/... ./bench/cmd/...

man: ## the manual pages and the files of expected help, from the commands
	go test $(PROGRAMS:%=./cmd/%) ./bench/cmd/bench -run TestDocumentation -update

install: build ## programs, manual pages, completion, systemd unit, below DESTDIR and PREFIX (/usr/local)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(DATADIR)/man/man8 $(DESTDIR)$(SYSTEMDDIR) \
	  $(DESTDIR)$(DATADIR)/bash-completion/completions $(DESTDIR)$(DATADIR)/zsh/site-functions $(DESTDIR)$(DATADIR)/fish/vendor_completions.d
	install -m 755 $(PROGRAMS:%=$(BUILT)/%) $(DESTDIR)$(BINDIR)
	install -m 644 $(PROGRAMS:%=cmd/%/man/*.8) $(DESTDIR)$(DATADIR)/man/man8
	for p in $(PROGRAMS); do \
	  $(BUILT)/$$p completion bash >$(DESTDIR)$(DATADIR)/bash-completion/completions/$$p && \
	  $(BUILT)/$$p completion zsh >$(DESTDIR)$(DATADIR)/zsh/site-functions/_$$p && \
	  $(BUILT)/$$p completion fish >$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/$$p.fish || exit 1; \
	done
	sed 's|/usr/bin/|$(BINDIR)/|' cmd/srpd/systemd/srpd.service >$(DESTDIR)$(SYSTEMDDIR)/srpd.service

run: build ## the block device daemon with its embedded target, in the foreground (ARGS=options)
	@exec build/srpd run --embedded $(ARGS)

test: tools lint build ## everything: lint, build, tests, then under the race detector, then with levels asserted
	go test -timeout 10m ./...
	$(MAKE) --no-print-directory race twin

twin: ## the packages at Dispatch, with levels asserted while they run
	go test -tags leveltwin -short -timeout 10m ./verbs ./verbs/dispatch ./verbs/soft ./srp ./miniport ./scsi/disk ./test/path

race: ## the packages with concurrency, under the race detector
	go test -race -short -timeout 15m $(RACE:%=./%/...)

lint: fmt vet levels imports ## gofmt, go vet, levels, import directions

fmt:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || \
	  { echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; }

vet:
	go vet ./...

levels: ## what may run at Dispatch, checked by test/levelcheck
	go run ./test/levelcheck/cmd/levelcheck ./...

imports:
	go test ./test/imports

fuzz: ## every fuzz target for FUZZTIME (60s) each
	bash test/fuzz.sh

bench: build ## speed beside a model and other programs: a table, build/results/report.html (ARGS=--quick; BENCH=regexp: of go test)
ifdef BENCH
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...
else
	@bash test/tools.sh bench
	@build/bench run $(ARGS)
endif

tools: ## install (as root) or name the tools that tests need
	@bash test/tools.sh

clean: ## remove what was built
	rm -rf build
