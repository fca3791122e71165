# SPDX-License-Identifier: MIT
#
# Builds everything that runs in user space. Each directory says in its sources.mk what it is made of:
#
#   <unit>-srcs   C files, relative to the directory       <unit>-libs   pkg-config names
#   <unit>-uses   other units it links                     <unit>-incs   further include directories
#   tests-uses    units its tests/test_*.c link            tests-libs    pkg-config names for them
#
# A unit is a static library; a program <name> is its main.c plus the unit of the other files. `part-<dir>` builds one
# directory only. Everything goes to $(B)/user, or $(B)/user-fault with MC_FAULT=1.

B        ?= build
# One spelling of the directory: what a compiler wrote about headers names objects by it.
override B := $(patsubst $(CURDIR)/%,%,$(abspath $(B)))
MC_FAULT ?= 0
U        := $(B)/user$(if $(filter 1,$(MC_FAULT)),-fault)
CC       ?= gcc
VERSION  := 0.1.0

DIRS     := common userspace/mac userspace/rpc userspace/nl userspace/libmooncake userspace/mcmasterd userspace/mcnoded userspace/mcctl
PROGRAMS := mcmasterd mcnoded mcctl
PROTO    := userspace/proto/mooncake.proto

CFLAGS   ?= -O2 -g
ALL_CFLAGS = $(CFLAGS) -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -DMC_VERSION='"$(VERSION)"' -fPIC -MMD -MP \
	-I. -Iuapi -Icommon -Iuserspace -Iuserspace/rpc -Iuserspace/nl -Iuserspace/libmooncake/include -I$(U)/gen \
	$(if $(filter 1,$(MC_FAULT)),-DMC_FAULT) $(EXTRA_CFLAGS)

all: programs
.PHONY: all programs tests selftests
.SECONDARY:
.DELETE_ON_ERROR:

# ---- what the directories say ----

common-srcs  := $(notdir $(wildcard common/*.c))
common-dir   := common
proto-libs   := libprotobuf-c

define read-dir
tests-uses :=
tests-libs :=
-include $(1)/sources.mk
T-uses-$(notdir $(1)) := $$(or $$(tests-uses),$$($(notdir $(1))-tests-uses)) $(notdir $(filter common,$(1)))
T-libs-$(notdir $(1)) := $$(or $$(tests-libs),$$($(notdir $(1))-tests-libs)) cmocka
endef
$(foreach d,$(DIRS),$(eval $(call read-dir,$(d))))

rpc-client-dir := userspace/rpc
rpc-server-dir := userspace/rpc
nl-dir         := userspace/nl
text-dir       := userspace/nl
mac-dir        := userspace/mac
mooncake-dir   := userspace/libmooncake
# Programs: everything but main.c is a unit that tests link.
master-of      := mcmasterd
noded-of       := mcnoded
ctl-of         := mcctl
define prog-unit
$(1)-dir  := userspace/$($(1)-of)
$(1)-srcs := $(filter-out main.c,$($($(1)-of)-srcs))
$(1)-libs := $($($(1)-of)-libs)
$(1)-uses := $($($(1)-of)-uses)
$(1)-incs := $($($(1)-of)-incs)
$($(1)-of)-unit := $(1)
endef
$(foreach u,master noded ctl,$(eval $(call prog-unit,$(u))))
UNITS := $(foreach u,common mac rpc-client rpc-server text nl mooncake master noded ctl,$(if $($(u)-srcs),$(u)))

# ---- units ----

closure = $(if $(1),$(1) $(call closure,$(foreach u,$(1),$($(u)-uses))))
uniq    = $(if $(1),$(firstword $(1)) $(call uniq,$(filter-out $(firstword $(1)),$(1))))
units   = $(call uniq,$(call closure,$(1)))
archives = $(foreach u,$(call units,$(1)),$(U)/lib/$(if $(filter mooncake,$(u)),libmooncake-all,lib$(u)).a)
pkglibs  = $(call uniq,$(foreach u,$(call units,$(1)),$($(u)-libs)))
pc       = $(if $(strip $(2)),$(shell pkg-config $(1) $(2)))

define unit-rules
$(1)-objs := $(patsubst %.c,$(U)/obj/$($(1)-dir)/%.o,$($(1)-srcs))
$$($(1)-objs): UNIT_CFLAGS := $(addprefix -I$($(1)-dir)/,$($(1)-incs)) -I$($(1)-dir) $(call pc,--cflags,$(call pkglibs,$(1)))
$(U)/lib/lib$(if $(filter mooncake,$(1)),mooncake-all,$(1)).a: $$($(1)-objs) $(wildcard $($(1)-dir)/sources.mk)
endef
$(foreach u,$(UNITS),$(eval $(call unit-rules,$(u))))

$(U)/lib/libproto.a: $(U)/gen/mooncake.pb-c.o

$(U)/lib/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	@ar rcs $@ $(filter %.o,$^)

$(U)/gen/mooncake.pb-c.c $(U)/gen/mooncake.pb-c.h &: $(PROTO)
	@mkdir -p $(U)/gen
	@protoc-c -I $(dir $(PROTO)) --c_out=$(U)/gen $(PROTO)

$(U)/gen/mooncake.pb-c.o: $(U)/gen/mooncake.pb-c.c
	@$(CC) $(CFLAGS) -fPIC -MMD -MP -c -o $@ $<

$(U)/obj/%.o: %.c tools/build.mk | $(U)/gen/mooncake.pb-c.h
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(CC) $(ALL_CFLAGS) $(UNIT_CFLAGS) -c -o $@ $<

# ---- libmooncake ----

LIBMC_SO := $(U)/lib/libmooncake.so.$(VERSION)
$(LIBMC_SO): $(call archives,mooncake) userspace/libmooncake/libmooncake.map
	@echo "  LD      $@"
	@$(CC) -shared -Wl,-soname,libmooncake.so.0 -Wl,--version-script=userspace/libmooncake/libmooncake.map -Wl,-z,defs \
		-o $@ -Wl,--whole-archive $(U)/lib/libmooncake-all.a -Wl,--no-whole-archive \
		-Wl,--start-group $(filter-out %/libmooncake-all.a,$(call archives,mooncake)) -Wl,--end-group \
		$(call pc,--libs,$(call pkglibs,mooncake)) -lpthread
	@ln -sf $(notdir $@) $(U)/lib/libmooncake.so.0 && ln -sf libmooncake.so.0 $(U)/lib/libmooncake.so
# The static library is complete in itself: it holds the units it uses.
$(U)/lib/libmooncake.a: $(call archives,mooncake)
	@rm -f $@
	@(echo "create $@"; for a in $^; do echo "addlib $$a"; done; echo save; echo end) | ar -M
LIBMC := $(if $(mooncake-srcs),$(U)/lib/libmooncake.a $(if $(wildcard userspace/libmooncake/libmooncake.map),$(LIBMC_SO)))

# ---- programs ----

define prog-rules
$(U)/obj/userspace/$(1)/main.o: UNIT_CFLAGS := $(addprefix -Iuserspace/$(1)/,$($(1)-incs)) -Iuserspace/$(1) $(call pc,--cflags,$(call pkglibs,$($(1)-unit)))
$(U)/bin/$(1): $(U)/obj/userspace/$(1)/main.o $(call archives,$($(1)-unit))
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	@$(CC) $(CFLAGS) $(EXTRA_CFLAGS) -o $$@ $(U)/obj/userspace/$(1)/main.o -Wl,--start-group $(call archives,$($(1)-unit)) -Wl,--end-group \
		$(call pc,--libs,$(call pkglibs,$($(1)-unit))) -lpthread
endef
HAVE := $(foreach p,$(PROGRAMS),$(if $(filter main.c,$($(p)-srcs)),$(p)))
$(foreach p,$(HAVE),$(eval $(call prog-rules,$(p))))
programs: $(LIBMC) $(addprefix $(U)/bin/,$(HAVE))
	@:

# ---- unit tests ----

define test-rules
$(U)/obj/$(1)/tests/%.o: UNIT_CFLAGS := -I$(1) -I$(1)/tests $(foreach u,$(call units,$(T-uses-$(notdir $(1)))),$(addprefix -I$($(u)-dir)/,$($(u)-incs)) $(addprefix -I,$($(u)-dir))) \
	$(call pc,--cflags,$(call uniq,$(T-libs-$(notdir $(1))) $(call pkglibs,$(T-uses-$(notdir $(1))))))
$(U)/test/$(notdir $(1))-%: $(U)/obj/$(1)/tests/test_%.o $(patsubst %.c,$(U)/obj/%.o,$(filter-out $(1)/tests/test_%.c $(1)/tests/prog_%.c,$(wildcard $(1)/tests/*.c))) $(call archives,$(T-uses-$(notdir $(1))))
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	@$(CC) $(CFLAGS) $(EXTRA_CFLAGS) -o $$@ $$(filter %.o,$$^) -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group \
		$(call pc,--libs,$(call uniq,$(T-libs-$(notdir $(1))) $(call pkglibs,$(T-uses-$(notdir $(1)))))) -lpthread
part-$(notdir $(1)): $(foreach u,$(UNITS),$(if $(filter $(1),$($(u)-dir)),$(call archives,$(u)))) $(addprefix $(U)/bin/,$(filter $(notdir $(1)),$(HAVE))) \
	$(patsubst $(1)/tests/test_%.c,$(U)/test/$(notdir $(1))-%,$(wildcard $(1)/tests/test_*.c))
TESTS += $(patsubst $(1)/tests/test_%.c,$(U)/test/$(notdir $(1))-%,$(wildcard $(1)/tests/test_*.c))
endef
$(foreach d,$(DIRS),$(eval $(call test-rules,$(d))))

# ---- the tests of common/ with sanitizers, as programs of 64 and of 32 bits ----

# A 32-bit cmocka would need Debian's other architecture: these have a small runner of their own, which the kernel has too.
KUNIT := tools/testing/kunit
define bits-rules
$(B)/unit-m$(1)/common-%: common/tests/test_%.c $(wildcard common/*.c common/*.h common/tests/*.h uapi/linux/*.h) $(wildcard $(KUNIT)/*.c $(KUNIT)/include/*.h) tools/build.mk
	@mkdir -p $$(@D)
	@echo "  CC -m$(1) $$<"
	@$(CC) -m$(1) -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -std=gnu11 -Wall -Wextra -Werror \
		-D_GNU_SOURCE -DMC_MINI_TESTS -I. -Iuapi -Icommon -Icommon/tests -I$(KUNIT)/include -o $$@ $$< $(wildcard common/*.c) $(KUNIT)/mini.c $(KUNIT)/mac.c
TESTS += $(patsubst common/tests/test_%.c,$(B)/unit-m$(1)/common-%,$(wildcard common/tests/test_*.c))
endef
$(foreach m,32 64,$(eval $(call bits-rules,$(m))))

# ---- all of them, or those whose name contains TESTS_ONLY ----

tests: $(foreach t,$(TESTS),$(if $(findstring $(or $(TESTS_ONLY),-),$(notdir $(t))),$(t)))
	@:

# ---- kernel selftests: each C file of one/, two/ and three/ is a program; C files beside those directories are linked to all ----

ST      := tools/testing/selftests/mooncake
st-uses :=
st-libs :=
-include $(ST)/sources.mk
ST_LIB  := $(patsubst $(ST)/%.c,$(B)/selftests/obj/%.o,$(wildcard $(ST)/*.c))
ST_BINS := $(patsubst $(ST)/%.c,$(B)/selftests/%,$(wildcard $(ST)/one/*.c $(ST)/two/*.c $(ST)/three/*.c))
ST_CC   = $(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -MMD -MP -I. -Iuapi -Icommon -I$(ST) \
	$(foreach u,$(call units,$(st-uses)),$(if $($(u)-dir),-I$($(u)-dir))) $(call pc,--cflags,$(call uniq,$(st-libs) $(call pkglibs,$(st-uses))))
$(B)/selftests/obj/%.o: $(ST)/%.c tools/build.mk
	@mkdir -p $(@D)
	@echo "  CC      $<"
	@$(ST_CC) -c -o $@ $<
$(B)/selftests/%: $(ST)/%.c $(ST_LIB) $(call archives,$(st-uses)) tools/build.mk
	@mkdir -p $(@D) $(B)/selftests/obj
	@echo "  CC      $<"
	@$(ST_CC) -MF $(B)/selftests/obj/$(subst /,-,$*).d -MT $@ -o $@ $< $(ST_LIB) -Wl,--start-group $(call archives,$(st-uses)) \
		-Wl,--end-group $(call pc,--libs,$(call uniq,$(st-libs) $(call pkglibs,$(st-uses)))) -lpthread
# ---- fuzzers: programs that run on the test machines ----

FZ      := tools/testing/fuzzers
FZ_BINS := $(patsubst $(FZ)/%.c,$(B)/selftests/fuzzers/%,$(wildcard $(FZ)/fuzz_*.c))
$(B)/selftests/fuzzers/%: $(FZ)/%.c $(FZ)/fuzz.h $(ST_LIB) $(call archives,mac) tools/build.mk
	@mkdir -p $(@D) $(B)/selftests/obj
	@echo "  CC      $<"
	@$(ST_CC) -I$(FZ) -MF $(B)/selftests/obj/fuzz-$*.d -MT $@ -o $@ $< $(ST_LIB) -Wl,--start-group $(call archives,mac) -Wl,--end-group \
		$(if $(filter fuzz_peer fuzz_owner,$*),$(call pc,--libs,librdmacm libibverbs)) $(call pc,--libs,libcrypto) -lpthread
selftests: $(ST_BINS) $(FZ_BINS)
	@:

-include $(shell find $(U)/obj $(U)/gen $(B)/selftests/obj -name '*.d' 2>/dev/null)
