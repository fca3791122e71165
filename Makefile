# SPDX-License-Identifier: MIT
# The user's entry. `make help` lists what there is. Kbuild is the kernel's entry.

MAKEFLAGS += --no-print-directory
B        ?= build
K        ?= $(or $(KERNEL),6.1)
MC_FAULT ?= 0
KERNELS  := 6.1 6.12
PREFIX   ?= /usr/local
JOBS     ?= $(shell nproc)
ROOT     := $(CURDIR)
export B

ifeq ($(MC_FAULT),1)
FSUF := -fault
endif

.PHONY: help deps kernels kernels-debug all modules debug-modules userspace demo check check-long check-debug lint docs mutants shell install uninstall clean selftests
.DEFAULT_GOAL := help

help: ## list the targets
	@echo "Mooncake in the kernel. Start with: make demo"
	@grep -hE '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## (.*)/  \1|\2/' | column -t -s'|'
	@echo "Variables: B=dir (default build), KERNEL=6.1|6.12, MC_FAULT=1 (build with fault hooks), PREFIX, DESTDIR"

deps: $(B)/.deps ## install the Debian packages that building and testing need
$(B)/.deps: tools/deps/packages.txt tools/deps/install
	@tools/deps/install
	@mkdir -p $(B) && touch $@

kernels: $(B)/kernels.lock ## fetch Debian's kernels and unpack them under build/kernels
$(B)/kernels.lock: tools/deps/kernels | $(B)/.deps
	@tools/deps/kernels $(B) $(KERNELS)

kernels-debug: $(B)/.deps ## build the debug kernels from Debian's source, once (12 minutes of processor time each)
	@tools/deps/kernels-debug $(B)

all: modules userspace ## build the module for KERNEL and all programs

modules: $(B)/kernels.lock ## build mooncake.ko for the test machines' KERNEL
	@tools/deps/build-module $(B) $(K) $(MC_FAULT)

debug-modules: # the KUnit module and the planted bugs, for a debug KERNEL
	@tools/deps/build-debug-modules $(B) $(K)

userspace: $(B)/.deps ## build libmooncake and the programs
	@$(MAKE) -f tools/build.mk -j$(JOBS) B=$(B) MC_FAULT=$(MC_FAULT) all

userspace-%: $(B)/.deps
	@$(MAKE) -f tools/build.mk -j$(JOBS) B=$(B) MC_FAULT=$(MC_FAULT) part-$*

unit: $(B)/.deps ## build the userspace unit tests
	@$(MAKE) -f tools/build.mk -j$(JOBS) B=$(B) MC_FAULT=$(MC_FAULT) tests

selftests: $(B)/.deps ## build the kernel selftests
	@$(MAKE) -f tools/build.mk -j$(JOBS) B=$(B) selftests

demo: $(B)/.deps $(B)/kernels.lock ## two nodes share KV blocks over RDMA, every byte verified (TRACE= REQUESTS= BLOCK= PARALLEL= CORRUPT=1 DROP=1)
	@$(MAKE) userspace
	@$(MAKE) modules MC_FAULT=$(if $(CORRUPT),1,0) K=$(K)
	@KERNEL=$(K) tools/demo/demo

check: $(B)/.deps $(B)/kernels.lock ## every test with reduced counts; the last line says how many passed
	@tools/testing/run

check-long: $(B)/.deps $(B)/kernels.lock ## every test with full counts
	@LONG=1 tools/testing/run

check-debug: $(B)/.deps $(B)/kernels.lock ## every selftest on kernels with KASAN, lockdep, kmemleak (KERNELS="uml-debug" for the quick one)
	@tools/testing/debug/check

lint: $(B)/.deps $(B)/kernels.lock ## style and static checks
	@tools/lint/run

docs: $(B)/.deps $(B)/kernels.lock ## the documentation as HTML, interfaces included, under build/docs/html
	@tools/docs/build

mutants: $(B)/.deps $(B)/kernels.lock ## break the code on purpose; each breakage must be found by the test it names
	@tools/testing/mutants/run

shell: $(B)/.deps $(B)/kernels.lock ## two nodes with everything loaded, interactive
	@$(MAKE) userspace
	@$(MAKE) modules K=$(K)
	@KERNEL=$(K) tools/testing/vm/shell

install: ## install module (running kernel), programs, library, man pages, udev rule
	$(if $(filter 1,$(MC_FAULT)),$(error a build with fault hooks (MC_FAULT=1) is for tests only and is not installed))
	@$(MAKE) -f tools/build.mk -j$(JOBS) B=$(B) MC_FAULT=0 all
	@B=$(B) PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) packaging/install

uninstall: ## remove what install put there
	@PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) packaging/uninstall

clean: ## remove what was built (kernels and downloads stay; remove build/ for those)
	@rm -rf $(B)/user $(B)/user-fault $(B)/kmod-* $(B)/selftests $(B)/vm $(B)/mutants
