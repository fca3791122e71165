#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Grants as the master signs them, checked with Python's BLAKE2s: what they allow, how long, and with which key."""

import hashlib
import os
import signal
import struct
import time

from libmaster import (MIB, TMP, LIMIT, Master, code, eq, mounted, node, ok, pb, put, run, true, uuid, wait,
                       wait_rested)

READ, WRITE, WHOLE_PAGES = 1, 2, 4


def mac(key, label, data, size):
    return hashlib.blake2s(label + b"\0" + data, key=key, digest_size=size).digest()


def tenant_number(name):
    return struct.unpack("<Q", mac(bytes(32), b"mooncake tenant", name, 8))[0]


class Grant:
    def __init__(self, raw):
        eq(len(raw), 88, "bytes of a grant")
        (self.seg, self.off, self.len, self.not_after, self.epoch, self.tenant, self.gen, self.rights,
         zero) = struct.unpack("<16sQQQQQIIQ", raw[:72])
        eq(zero, 0, "reserved bytes")
        self.raw = raw

    def signed_with(self, cluster):
        key = mac(cluster, b"mooncake grant key", self.seg + struct.pack("<I", self.gen), 32)
        return mac(key, b"mooncake grant", self.raw[:72], 16) == self.raw[72:]


def key_file(name, key, gen=None):
    path = os.path.join(TMP, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as f:
        f.write(key.hex() + (" %d" % gen if gen else "") + "\n")
    return path


def what_they_allow():
    with Master("--lease-ttl-ms", "5000", "--put-discard-timeout-ms", "7000") as m:
        c = m.client()
        mounted(c)
        clock = c.ServiceReady()
        r = c.PutStart(client_uuid=uuid("A"), tenant="blue", key=b"k", length=5000)
        ok(r)
        g, place = Grant(r.replicas[0].grant), r.replicas[0]
        eq((g.seg, g.off, g.len), (place.segment_uuid, place.offset, 5000), "range of the write grant")
        eq(g.rights, WRITE | WHOLE_PAGES, "rights of the write grant")
        eq((g.epoch, g.tenant, g.gen), (clock.clock_epoch, tenant_number(b"blue"), 0), "epoch, tenant, generation")
        true(clock.now_ns + 7e9 <= g.not_after <= c.ServiceReady().now_ns + 7e9, "end of the write grant")
        true(g.signed_with(bytes(32)), "tag of the write grant")
        true(not g.signed_with(bytes(31) + b"\1"), "the tag says nothing")
        ok(c.PutEnd(client_uuid=uuid("A"), tenant="blue", key=b"k", token=r.token))
        before = c.ServiceReady().now_ns
        g = Grant(c.GetReplicaList(tenant="blue", key=b"k").replicas[0].grant)
        eq((g.seg, g.off, g.len), (place.segment_uuid, place.offset, 5000), "range of the read grant")
        eq(g.rights, READ | WHOLE_PAGES, "rights of the read grant")
        true(before + 5e9 <= g.not_after <= c.ServiceReady().now_ns + 5e9, "end of the read grant")
        true(g.signed_with(bytes(32)), "tag of the read grant")
        later = Grant(c.GetReplicaList(tenant="blue", key=b"k").replicas[0].grant)
        true(later.not_after > g.not_after, "a second look-up does not renew the grant")


def places_are_pages():
    """Starts are multiples of 4 KiB, and no two objects share a page, whatever their sizes."""
    with Master() as m:
        c = m.client()
        mounted(c)
        pages = {}
        for i, size in enumerate((1, 4095, 4096, 4097, 1, 70000, 12345, 1, 8192)):
            r = put(c, b"k%d" % i, size, tenant="t%d" % (i % 3)).replicas[0]
            eq(r.offset % 4096, 0, "start of object %d" % i)
            for p in range(r.offset // 4096, (r.offset + size + 4095) // 4096):
                true(p not in pages, "objects %d and %d share page %d" % (pages.get(p, -1), i, p))
                pages[p] = i


def rotation():
    one, two = bytes(range(32)), bytes(range(100, 132))
    path = key_file("cluster.key", one)
    with Master("--key-file", path, "--key-generation", "7") as m:
        c = m.client()
        mounted(c)
        g = Grant(put(c, b"k").replicas[0].grant)
        eq(g.gen, 7, "generation from the command line")
        true(g.signed_with(one), "signed with the key")
        eq((c.MasterStatus().auth, c.MasterStatus().key_generation), ("key", 7), "status")
        key_file("cluster.key", two, 8)
        m.proc.send_signal(signal.SIGHUP)
        wait(lambda: c.MasterStatus().key_generation == 8, "the new key was never read")
        g = Grant(c.GetReplicaList(key=b"k").replicas[0].grant)
        eq(g.gen, 8, "generation from the file")
        true(g.signed_with(two), "signed with the new key")
        os.chmod(path, 0o644)
        m.proc.send_signal(signal.SIGHUP)
        wait(lambda: any("0644" in x for x in m.lines), "an open key file was not complained about")
        eq(Grant(c.GetReplicaList(key=b"k").replicas[0].grant).gen, 8, "generation after a refused file")


def bad_key_files():
    good = key_file("good", bytes(32))
    os.chmod(good, 0o640)
    for flags in (("--key-file", good), ("--key-file", os.path.join(TMP, "none")),
                  ("--key-file", key_file("zero", bytes(32), 0) and key_file("short", bytes(3)))):
        try:
            Master(*flags).stop()
        except AssertionError:
            continue
        raise AssertionError("%s: it started" % (flags,))


def inherited():
    """A pool that another master had handed out rests, whatever its node knows of that master."""
    with Master("--restart-rest-ms", "1500") as m:
        c = m.client()
        ok(c.Ping(client_uuid=uuid("C", 1), node=node(1, (1,))))
        start = time.monotonic()
        ok(c.MountSegment(client_uuid=uuid("C", 1), node_uuid=uuid("N", 1), segment_uuid=uuid("S", 1), name="pool1",
                          size=64 * MIB, inherited=True))
        wait_rested(c, start, 1)
        true(time.monotonic() >= start + 1.4, "the rest was too short")


def reuse_waits_for_the_grant():
    """The release timeout can't give a range back before the writer's grant and the margin are over."""
    with Master("--put-discard-timeout-ms", "600", "--put-release-timeout-ms", "601", "--retry-bound-ms", "500") as m:
        c = m.client()
        mounted(c)
        start = time.monotonic()
        ok(c.PutStart(client_uuid=uuid("A"), key=b"k", length=MIB))
        while c.MasterStatus().used:
            true(time.monotonic() < start + LIMIT, "the range never came back")
            time.sleep(0.02)
        took = time.monotonic() - start
        true(took >= 2.05, "the range came back after %.2f s: 0.6 s of grant, 1 s of skew, 0.5 s of retries" % took)


def extended():
    """An attempt that its writer extends is not taken over, and has newer grants for the same places."""
    with Master("--put-discard-timeout-ms", "2000", "--put-release-timeout-ms", "9000") as m:
        c = m.client()
        mounted(c)
        start = time.monotonic()
        first = c.PutStart(client_uuid=uuid("A"), key=b"k", length=5000)
        ok(first)
        eq(first.grant_ttl_ms, 2000, "how long its grant lasts")
        ok(c.PutStart(client_uuid=uuid("A"), key=b"idle", length=5000))

        def extend(client="A", token=first.token):
            return c.BatchPutExtend(items=[pb.PutExtendRequest(client_uuid=uuid(client), key=b"k", token=token),
                                           pb.PutExtendRequest(client_uuid=uuid("A"), key=b"none", token=1)]).results
        last = Grant(first.replicas[0].grant)
        while time.monotonic() < start + 3:
            r = extend()
            ok(r[0])
            code(r[1], -704)
            g = Grant(r[0].replicas[0].grant)
            eq((g.seg, g.off, g.len, g.rights), (last.seg, last.off, last.len, WRITE | WHOLE_PAGES), "what it allows")
            true(g.not_after > last.not_after, "the grant lasts no longer")
            eq((r[0].token, r[0].grant_ttl_ms), (first.token, 2000), "token and time")
            last = g
            time.sleep(0.2)
        code(extend(client="B")[0], -601)
        code(extend(token=first.token + 1)[0], -601)
        # The one that nobody extended is behind it: it can be taken over, the other one not.
        ok(c.PutStart(client_uuid=uuid("B"), key=b"idle", length=5000))
        if time.monotonic() < start + 4.5:
            code(c.PutStart(client_uuid=uuid("B"), key=b"k", length=5000), -705)
        ok(c.PutEnd(client_uuid=uuid("A"), key=b"k", token=first.token))
        code(extend()[0], -700)


def extension_keeps_the_order():
    """Writes are swept in the order of their times: one that was extended holds no older one up."""
    with Master("--put-discard-timeout-ms", "900", "--put-release-timeout-ms", "1000", "--retry-bound-ms", "0") as m:
        c = m.client()
        mounted(c)
        first = c.PutStart(client_uuid=uuid("A"), key=b"k", length=MIB)
        ok(first)
        ok(c.PutStart(client_uuid=uuid("A"), key=b"idle", length=MIB))
        start = time.monotonic()
        while c.MasterStatus().writes_in_progress == 2:
            ok(c.BatchPutExtend(items=[pb.PutExtendRequest(client_uuid=uuid("A"), key=b"k",
                                                           token=first.token)]).results[0])
            true(time.monotonic() < start + LIMIT, "the other write was never abandoned")
            time.sleep(0.1)
        ok(c.PutEnd(client_uuid=uuid("A"), key=b"k", token=first.token))


if __name__ == "__main__":
    run(("what a grant allows", what_they_allow),
        ("objects own their pages", places_are_pages),
        ("a key is replaced while the master runs", rotation),
        ("key files that are refused", bad_key_files),
        ("C-32 an inherited pool rests", inherited),
        ("C-1 a range waits for its writer's grant", reuse_waits_for_the_grant),
        ("C-5 an attempt goes on as long as its writer says so", extended),
        ("C-5 an extended write holds up no other", extension_keeps_the_order))
