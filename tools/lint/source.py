#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rules of style that a line or a function can break. Prints file:line: what, one a finding; 1 if there are any."""

import os
import re
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
C_COLUMNS, COLUMNS = 120, 132
SUITES = ("unit", "host", "one", "two", "three")
FILE_LINES, FUNCTION_LINES, MEAN_LINES = 900, 100, 25
TEXT = (".c", ".h", ".py", ".sh", ".mk", ".rst", ".proto", ".rules", ".in")
NAMES = ("Makefile", "Kbuild", "mcvm", "run", "install", "uninstall", "kernels", "build-module", "shell",
         "guest-init", "initrd-init", "demo", "cluster-up", "fuzz")
LICENCE = (("kmod/", "GPL-2.0-only"), ("tools/testing/kunit/kunit.c", "GPL-2.0-only"),
           ("tools/testing/kunit/Kbuild", "GPL-2.0-only"), ("tools/testing/kunit/", "GPL-2.0-only OR MIT"),
           ("tools/testing/debug/planted/", "GPL-2.0-only"), ("uapi/", "GPL-2.0 WITH Linux-syscall-note"),
           ("common/", "GPL-2.0-only OR MIT"), ("Kbuild", "GPL-2.0-only"), ("", "MIT"))
# pattern, where it applies, where it is allowed, what to say
FORBIDDEN = (
    (re.compile(r"LINUX_VERSION_CODE|KERNEL_VERSION\("), "kmod/", "kmod/compat.h", "kernel versions belong in kmod/compat.h"),
    (re.compile(r"\bBUG(_ON)?\("), "kmod/", None, "BUG stops the machine: return an error"),
    (re.compile(r"IB_PD_UNSAFE_GLOBAL_RKEY"), "kmod/", None, "a global key opens all memory"),
    (re.compile(r"\bib_post_(send|recv)\("), "kmod/", "kmod/verb.c", "post through kmod/verb.h, which looks at requests"),
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "", "tools/lint/source.py", "finish it or file it"),
    (re.compile(r"#include [<\"](.*/)?kmod/"), "userspace/", None, "programs include nothing of kmod/"),
)


class Findings:
    def __init__(self):
        self.count = 0

    def add(self, path, line, text):
        self.count += 1
        print("%s:%d: %s" % (path, line, text))


def sources():
    """Files git knows or would add: ignored ones are not ours."""
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TOP, stdout=subprocess.PIPE, text=True, check=True)
    for path in sorted(set(out.stdout.splitlines())):
        full = os.path.join(TOP, path)
        if os.path.isfile(full) and (path.endswith(TEXT) or os.path.basename(path) in NAMES):
            yield path, full


def check_licence(found, path, lines):
    want = next(name for prefix, name in LICENCE if path.startswith(prefix))
    head = "\n".join(lines[:3])
    m = re.search(r"SPDX-License-Identifier: (.*?)(?: \*/)?$", head, re.M)
    if not m:
        if not path.endswith(".in"):
            found.add(path, 1, "no SPDX-License-Identifier (%s)" % want)
    elif m.group(1).strip() != want and path != "kmod/Kbuild":
        found.add(path, 1, "SPDX-License-Identifier is '%s', not '%s'" % (m.group(1).strip(), want))


def check_lines(found, path, lines):
    is_c = path.endswith((".c", ".h"))
    limit = C_COLUMNS if is_c else COLUMNS
    for n, line in enumerate(lines, 1):
        if line != line.rstrip():
            found.add(path, n, "blanks at the end of the line")
        if len(line.expandtabs(8)) > limit and not path.endswith((".mk", "Makefile")):
            found.add(path, n, "%d columns, at most %d" % (len(line.expandtabs(8)), limit))
        if is_c and re.match(r" {8}", line):
            found.add(path, n, "indented with spaces, not tabs")
        for pattern, prefix, allowed, text in FORBIDDEN:
            if path.startswith(prefix) and path != allowed and pattern.search(line):
                found.add(path, n, text)


def functions(lines):
    """(first line, length) of each function: from a brace in column 0 after a ')' to the closing one."""
    start = None
    for n, line in enumerate(lines, 1):
        if line == "{" and start is None:
            start = n
        elif line.startswith("}") and start is not None:
            yield start, n - start - 1
            start = None


def check_functions(found, path, lines, means):
    if len(lines) > FILE_LINES:
        found.add(path, FILE_LINES + 1, "%d lines in one file, at most %d" % (len(lines), FILE_LINES))
    for n, length in functions(lines):
        means.setdefault(os.path.dirname(path) + "/", []).append(length)
        if length > FUNCTION_LINES:
            found.add(path, n, "function of %d lines, at most %d" % (length, FUNCTION_LINES))


def check_required(found):
    path = "tools/testing/required.txt"
    with open(os.path.join(TOP, path)) as f:
        for n, line in enumerate(f, 1):
            words = line.split("#")[0].split()
            if words and (len(words) < 2 or words[2:] not in ([], ["long"]) or words[0] not in SUITES or
                          not re.fullmatch(r"C-\d+", words[1])):
                found.add(path, n, "not 'suite case [long]'")


def main():
    found, means = Findings(), {}
    for path, full in sources():
        with open(full, errors="replace") as f:
            lines = f.read().splitlines()
        if lines:
            check_licence(found, path, lines)
        check_lines(found, path, lines)
        if path.endswith(".c"):
            check_functions(found, path, lines, means)
        if path.endswith(".py") or lines[:1] == ["#!/usr/bin/python3"]:
            try:
                compile("\n".join(lines) + "\n", path, "exec")
            except SyntaxError as e:
                found.add(path, e.lineno or 1, "python: %s" % e.msg)
    for directory, lengths in sorted(means.items()):
        if sum(lengths) > MEAN_LINES * len(lengths):
            found.add(directory, 0, "functions have %.1f lines on average, at most %d" % (sum(lengths) / len(lengths), MEAN_LINES))
    check_required(found)
    return 1 if found.count else 0


if __name__ == "__main__":
    sys.exit(main())
