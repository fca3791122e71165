# SPDX-License-Identifier: MIT
"""What a kernel's console says went wrong, less what a baseline names.

A baseline is a file of lines `KERNEL REGEX # REASON`: KERNEL is a kernel's name or *, and a report is expected when the
expression is found in its first lines. There is no way to expect a report without a reason."""

import re

REPORT = re.compile(
    r"WARNING: |BUG: |kernel BUG|Oops|general protection fault|KASAN|UBSAN|kmemleak: \d|possible circular locking|"
    r"INFO: task .* blocked for more than|INFO: rcu.* stall|soft lockup|hard LOCKUP|refcount_t: |Kernel panic|"
    r"possible recursive locking|suspicious RCU usage|sleeping function called|list_(add|del) corruption|"
    r"unreferenced object|page allocation failure|DMA-API: (?!preallocated|debugging)|"
    r"ODEBUG: |INFO: trying to register|inconsistent lock state|"
    r"workqueue lockup|Kernel mode signal|Segfault with no mm|"
    r"turning off the locking correctness validator")
HEAD = 6    # lines of a report that tell which it is


def baseline(path, kernel):
    """-> [(expression, reason)] of a file's lines for this kernel."""
    entries = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            if not line.strip() or line.startswith("#"):
                continue
            m = re.fullmatch(r"(\S+)\s+(.*\S)\s+#\s*(\S.*)", line.strip())
            if not m:
                raise ValueError("%s:%d: not KERNEL REGEX # REASON" % (path, number))
            if m.group(1) in ("*", kernel):
                entries.append((re.compile(m.group(2)), m.group(3)))
    return entries


def reports(lines, expected):
    """The lines of a console that tell of an unexpected report."""
    found, skip_to = [], 0
    for i, line in enumerate(lines):
        if i < skip_to or not REPORT.search(line):
            continue
        head = "".join(lines[i:i + HEAD])
        if any(e.search(line) for e, _ in expected):
            continue
        if any(e.search(head) for e, _ in expected):
            skip_to = i + HEAD      # the same report says several lines that would count
            continue
        found.append(line.strip())
    return found
