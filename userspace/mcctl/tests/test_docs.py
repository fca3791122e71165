#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The pages against the interfaces: each errno that the uapi headers name and each code of the store has its entry in
troubleshooting.rst, each event and state word is explained where people look for it. TAP."""

import os
import re
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
results = []


def read(path):
    with open(os.path.join(TOP, path)) as f:
        return f.read()


def test(name, missing):
    results.append(not missing)
    print("%sok %d - %s" % ("" if not missing else "not ", len(results), name))
    for m in sorted(missing):
        print("# missing: %s" % m)


def errnos(text):
    """Words that the C library knows as errors; in prose they stand alone or before a parenthesis."""
    import errno
    return {w for w in re.findall(r"\bE[A-Z0-9]{2,}\b", text) if hasattr(errno, w)}


def entries(text):
    return set(re.findall(r"^([A-Z][A-Z0-9_]+)$", text, re.M))


trouble = read("Documentation/troubleshooting.rst")
errors = read("Documentation/errors.rst")
uapi = "".join(read(os.path.join("uapi/linux", f)) for f in sorted(os.listdir(os.path.join(TOP, "uapi/linux"))))
# The one whose symbol is shorter than its name, which mc_strerror() gives.
codes = {"INTERNAL_ERROR" if c == "INTERNAL" else c
         for c in re.findall(r"\bMC_E([A-Z_]+) = -", read("userspace/libmooncake/include/mooncake/error.h"))}
rows = set(re.findall(r"^-\d+\s+([A-Z_]+)\s", errors, re.M))

wanted = errnos(uapi)
test("the headers name errors at all", {"EINVAL", "ESTALE"} - wanted)
test("each errno of the headers has its entry", wanted - entries(trouble))
test("each errno of errors.rst too", errnos(errors.split("The store")[0]) - entries(trouble))
test("each code of libmooncake's header too", codes - entries(trouble))
test("each code of errors.rst is one of the header", rows - codes)
test("each entry is an errno or a code", entries(trouble) - codes - errnos(trouble))
test("each entry says more than its name", {m.group(1) for m in re.finditer(r"^([A-Z][A-Z0-9_]+)\n(?!   \S)", trouble, re.M)})
events = {w.lower().replace("_", "-") for w in re.findall(r"\bMC_CMD_EVENT_([A-Z_]+),", uapi)}
names = {"seg-gone": "segment-gone", "buf-gone": "buffer-gone"}
test("each event is in the manual page", {e for e in events
                                          if names.get(e, e) not in read("userspace/mcctl/man/mcctl.8").replace("\\-", "-")})
print("1..%d" % len(results))
sys.exit(0 if all(results) else 1)
