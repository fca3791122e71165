#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Field-report cases that mcmasterd answers for alone: a stock gRPC client against one master."""

import subprocess
import threading
import time

from libmaster import (LIMIT, LONG, MCMASTERD, MIB, Keepalive, Master, code, codes, eq, mounted, ok, pb, places,
                       put, run, true, used, uuid, wait)

C1 = ("--put-discard-timeout-ms", "3000", "--put-release-timeout-ms", "8000")


class Late(Exception):
    """The machine was too slow for a step's moment."""


def at(start, seconds, slack=0.9):
    """Sleep until `seconds` after start. A step that would come more than slack late says nothing: repeat the run."""
    delay = start + seconds - time.monotonic()
    if delay < -slack:
        raise Late()
    time.sleep(max(0, delay))


def in_time(function):
    def wrapped():
        for _ in range(3):
            try:
                return function()
            except Late:
                print("# too slow for a moment that matters; again")
        raise AssertionError("three runs were too slow")
    return wrapped


def ls(c, tenant=""):
    return [o.key for o in c.List(tenant=tenant).objects]


@in_time
def c1_taken_over():
    with Master(*C1) as m:
        c = m.client()
        mounted(c)
        with Keepalive(c):
            start = time.monotonic()
            first = c.PutStart(client_uuid=uuid("A"), key=b"k", length=MIB)
            ok(first)
            at(start, 1)
            code(c.PutStart(client_uuid=uuid("B"), key=b"k", length=MIB), -705)
            at(start, 4)
            second = c.PutStart(client_uuid=uuid("B"), key=b"k", length=MIB)
            ok(second)
            true(second.replicas[0].offset != first.replicas[0].offset, "B was given A's range")
            ok(c.PutEnd(client_uuid=uuid("B"), key=b"k", token=second.token))
            code(c.PutEnd(client_uuid=uuid("A"), key=b"k", token=first.token), -601)
            at(start, 5)
            eq(used(c), 2 * MIB, "used at 5 s")
            at(start, 10)
            eq(used(c), MIB, "used at 10 s")
            got = c.GetReplicaList(key=b"k")
            ok(got)
            eq(got.replicas[0].offset, second.replicas[0].offset, "offset that a reader gets")


@in_time
def c1_vanishes():
    with Master(*C1) as m:
        c = m.client()
        mounted(c)
        start = time.monotonic()
        ok(c.PutStart(client_uuid=uuid("A"), key=b"k", length=MIB))
        eq(ls(c), [b"k"], "keys while it is written")
        # No traffic at all, also no pings: the node may go, too, but not before its time.
        at(start, 9.9)
        true(any("abandoned" in line for line in m.lines), "the abandoned write was not swept by a timer")
        eq(used(c), 0, "used")
        eq(ls(c), [], "keys")
        eq(c.MasterStatus().writes_in_progress, 0, "writes in progress")


def c2_finish_calls():
    with Master() as m:
        c = m.client()
        mounted(c)
        r = put(c, b"k", who=1)
        before = places(c.GetReplicaList(key=b"k"))
        again = c.PutEnd(client_uuid=uuid("A", 1), key=b"k", token=r.token, has_crc32c=True, crc32c=1)
        code(again, -700)
        eq(places(c.GetReplicaList(key=b"k")), before, "object after a second PutEnd")
        for token in (r.token, 0, 12345):
            code(c.PutEnd(client_uuid=uuid("B"), key=b"k", token=token), -601)
            code(c.PutRevoke(client_uuid=uuid("B"), key=b"k", token=token, quiesced=True), -601)
        code(c.PutEnd(client_uuid=uuid("A", 1), key=b"no such key", token=1), -704)
        code(c.PutRevoke(client_uuid=uuid("A", 1), key=b"no such key", token=1), -704)
        code(c.PutRevoke(client_uuid=uuid("A", 1), key=b"k", token=r.token), -700)
        eq(places(c.GetReplicaList(key=b"k")), before, "object after all")
        eq(c.ServiceReady().status.code, 0)
        true(m.alive(), "the master stopped")


def race(client, barrier, who, key, results):
    barrier.wait(LIMIT)
    r = client.PutStart(client_uuid=uuid("A", who), key=key, length=4096)
    results[who] = r.status.code


def c2_race():
    rounds = 10000 if LONG else 40
    with Master() as m:
        clients = [m.client() for _ in range(8)]
        mounted(clients[0], size=1 << 30)
        with Keepalive(clients[0]):
            for i in range(rounds):
                barrier, results = threading.Barrier(32), [None] * 32
                threads = [threading.Thread(target=race, args=(clients[k % 8], barrier, k, b"key%d" % i, results))
                           for k in range(32)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join(LIMIT)
                eq(sorted(results), [-705] * 31 + [0], "results of round %d" % i)
        eq(m.proc.pid, m.pid)
        true(m.alive(), "the master stopped")


def c3_exists_already():
    with Master() as m:
        c = m.client()
        mounted(c)
        a = put(c, b"k", 1000)
        code(c.PutStart(client_uuid=uuid("B"), key=b"k", length=2000), -705)
        batch = c.BatchPutStart(client_uuid=uuid("B"), keys=[b"k", b"new"], lengths=[2000, 2000])
        eq(codes(batch), [-705, 0], "batch [k, new]")
        true(not batch.results[0].token and not batch.results[0].replicas, "a refused item carries a token")
        got = c.GetReplicaList(key=b"k")
        eq((got.size, got.replicas[0].offset), (1000, a.replicas[0].offset), "what k is")


def same_key_twice():
    with Master() as m:
        c = m.client()
        mounted(c)
        batch = c.BatchPutStart(client_uuid=uuid("A"), keys=[b"k", b"k", b"x"], lengths=[5000, 5000, 0])
        eq(codes(batch), [0, -705, -600], "PutStart [k, k, x of no bytes]")
        end = pb.PutEndRequest(client_uuid=uuid("A"), key=b"k", token=batch.results[0].token)
        eq(codes(c.BatchPutEnd(items=[end, end])), [0, -700], "PutEnd [k, k]")
        eq([(r.status.code, r.exists) for r in c.BatchExistKey(keys=[b"k", b"x", b"k", b""]).results],
           [(0, True), (0, False), (0, True), (-600, False)], "Exist [k, x, k, '']")
        eq(codes(c.BatchGetReplicaList(keys=[b"x", b"k", b"k"])), [-704, 0, 0], "GetReplicaList [x, k, k]")
        eq(codes(c.BatchRemove(keys=[b"k", b"x"])), [-706, -704], "Remove [k leased, x]")
        eq(codes(c.BatchRemove(keys=[b"k", b"k"], force=True)), [0, -704], "forced Remove [k, k]")
        short = c.BatchPutStart(client_uuid=uuid("A"), keys=[b"a", b"b"], lengths=[1])
        eq(codes(short), [-600, -600], "two keys, one length")
        again = c.BatchPutStart(client_uuid=uuid("A"), keys=[b"a", b"b"], lengths=[1, 1])
        revoke = [pb.PutRevokeRequest(client_uuid=uuid("A"), key=k, token=r.token, quiesced=True)
                  for k, r in zip([b"a", b"b"], again.results)]
        before = used(c)
        eq(codes(c.BatchPutRevoke(items=revoke + revoke[:1])), [0, 0, -704], "PutRevoke [a, b, a]")
        eq(before - used(c), 8192, "bytes that the revokes freed")
        eq(codes(c.BatchExistKey(keys=[])), [], "an empty batch")


def c20_tenants():
    with Master() as m:
        c = m.client()
        mounted(c)
        a, b = put(c, b"k", 111, tenant="a"), put(c, b"k", 222, tenant="b")
        put(c, b"only a", tenant="a")
        eq([c.GetReplicaList(tenant=t, key=b"k").size for t in "ab"], [111, 222], "sizes")
        true(a.replicas[0].offset // 4096 != b.replicas[0].offset // 4096, "two tenants share a page")
        eq((ls(c, "a"), ls(c, "b"), ls(c)), ([b"k", b"only a"], [b"k"], []), "ls of a, b and the default tenant")
        ok(c.Remove(tenant="b", key=b"k", force=True))
        eq((ls(c, "a"), ls(c, "b")), ([b"k", b"only a"], []), "ls after b's rm")
        eq(c.GetReplicaList(tenant="a", key=b"k").size, 111, "a's object after b's rm")
        code(c.GetReplicaList(tenant="b", key=b"k"), -704)
        # Tenant and key are two things, not one text.
        put(c, b"b/k", tenant="a")
        code(c.GetReplicaList(tenant="a/b", key=b"k"), -704)
        put(c, b"k", tenant="")
        eq((ls(c), ls(c, "default")), ([b"k"], [b"k"]), "ls of '' and 'default'")


def c20_names():
    good = ["a/b", "x" * 255, "\u00e4\u20ac\U0001f319", "a_", "default", " "]
    bad = ["x" * 256, "_a", "_", "a\0b", "\0", "a\nb", "a\x7f"]
    with Master() as m:
        c = m.client()
        mounted(c)
        for t in good:
            put(c, b"k", tenant=t)
            eq(ls(c, t), [b"k"], "ls of tenant %r" % t)
        for t in bad:
            for reply in (c.PutStart(client_uuid=uuid("A"), tenant=t, key=b"k", length=1),
                          c.PutEnd(client_uuid=uuid("A"), tenant=t, key=b"k", token=1),
                          c.PutRevoke(client_uuid=uuid("A"), tenant=t, key=b"k", token=1),
                          c.ExistKey(tenant=t, key=b"k"), c.GetReplicaList(tenant=t, key=b"k"),
                          c.Remove(tenant=t, key=b"k"), c.List(tenant=t)):
                code(reply, -600)
            eq(codes(c.BatchGetReplicaList(tenant=t, keys=[b"k", b"l"])), [-600, -600], "batch of tenant %r" % t)
        code(c.GetReplicaList(tenant="a\0b", key=b"k"), -600)
        # Invalid UTF-8 can't be put into a message by a stock client, but arrive it may.
        status, text = c.raw("/mooncake.v1.Master/List", b"\x0a\x02\xff\xfe")
        eq(status, "OK", "List with a tenant that is not UTF-8 (%s)" % text)


def listing():
    with Master() as m:
        c = m.client()
        mounted(c)
        keys = sorted(b"%s%03d" % (p, i) for p in (b"a", b"b", b"\xff\x00") for i in range(100))
        for k in keys:
            put(c, k, 1)
        eq(ls(c), keys, "all keys")
        eq([o.key for o in c.List(prefix=b"b").objects], [k for k in keys if k.startswith(b"b")], "keys with prefix b")
        eq([o.key for o in c.List(prefix=b"\xff").objects], keys[-100:], "keys with prefix ff")
        got, after = [], b""
        while True:
            page = c.List(limit=7, after=after)
            true(len(page.objects) <= 7, "page of %d" % len(page.objects))
            got += [o.key for o in page.objects]
            if not page.more:
                break
            after = got[-1]
        eq(got, keys, "keys in pages of 7")
        eq([o.key for o in c.List(prefix=b"b", after=b"b097").objects], [b"b098", b"b099"], "prefix and after")
        eq([o.key for o in c.List(prefix=b"b", after=b"a", limit=1).objects], [b"b000"], "after before the prefix")
        eq(len(c.List(prefix=b"b", after=b"c").objects), 0, "after behind the prefix")
        code(c.List(limit=10001), -600)
        code(c.List(prefix=b"x" * 4097), -600)


def bounds():
    with Master() as m:
        c = m.client()
        code(c.PutStart(client_uuid=uuid("A"), key=b"k", length=1), -200)
        mounted(c, size=1 * MIB)
        code(c.PutStart(client_uuid=uuid("A"), key=b"k" * 4097, length=1), -600)
        code(c.PutStart(client_uuid=uuid("A"), key=b"", length=1), -600)
        code(c.PutStart(client_uuid=uuid("A"), key=b"k", length=0), -600)
        code(c.PutStart(client_uuid=uuid("A"), key=b"k", length=1 << 63), -600)
        code(c.PutStart(client_uuid=b"short", key=b"k", length=1), -600)
        code(c.PutStart(client_uuid=b"", key=b"k", length=1), -600)
        for n in (17, 0xffffffff):
            code(c.PutStart(client_uuid=uuid("A"), key=b"k", length=1, config=pb.ReplicateConfig(replica_num=n)), -600)
        full = c.PutStart(client_uuid=uuid("A"), key=b"k", length=1 * MIB + 1)
        code(full, -200)
        true("1048577" in full.status.message and "1048576" in full.status.message, full.status.message)
        eq((used(c), ls(c)), (0, []), "what the refused puts left")
        put(c, b"k" * 4096, 1 * MIB)
        code(c.PutStart(client_uuid=uuid("A"), key=b"l", length=1), -200)


def leases():
    with Master("--lease-ttl-ms", "2000", "--retry-bound-ms", "0") as m:
        c = m.client()
        mounted(c)
        with Keepalive(c):
            put(c, b"k", MIB)
            eq([c.ExistKey(key=b"k").exists for _ in range(3)], [True] * 3, "exist")
            ok(c.Remove(key=b"k"))          # asking protects nothing
            eq(used(c), 0, "used after an unread object's removal")
            put(c, b"k", MIB)
            eq(c.ExistKey(key=b"k", lease=True).exists, True, "exist with a lease")
            code(c.Remove(key=b"k"), -706)
            got = c.GetReplicaList(key=b"k")
            eq(got.lease_ttl_ms, 2000, "lease")
            code(c.Remove(key=b"k"), -706)
            ok(c.Remove(key=b"k", force=True))
            eq((c.ExistKey(key=b"k").exists, used(c)), (False, MIB), "a leased range is not free")
            new = put(c, b"new", MIB)
            true(new.replicas[0].offset != got.replicas[0].offset, "a leased range was handed out")
            wait(lambda: used(c) == MIB, "the leased range was never freed")


def listening(pid):
    out = subprocess.run(["ss", "-Hltnp"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return sorted(line.split()[3] for line in out.splitlines() if "pid=%d," % pid in line)


def c90_listen():
    good = [("127.0.0.1:0", ["127.0.0.1"]), ("0.0.0.0:0", ["0.0.0.0"]), ("lo:0", None)]
    try:
        with open("/proc/net/if_inet6") as f:
            v6 = "00000000000000000000000000000001" in f.read()
    except OSError:
        v6 = False
    if v6:
        good += [("[::1]:0", ["[::1]"]), ("[::]:0", ["[::]"]), ("[::1%lo]:0", ["[::1]"])]
    else:
        print("# no IPv6 here: IPv4 only")
    for text, hosts in good:
        with Master(listen=text) as m:
            hosts = hosts or ["127.0.0.1"] + ["[::1]"] * v6
            shown = listening(m.pid)
            eq(sorted(a.rsplit(":", 1)[0].replace("%lo", "") for a in shown), sorted(hosts),
               "addresses bound by --listen %s" % text)
            host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(hosts[0], hosts[0])
            from libmaster import Client
            c = Client("%s:%d" % (host, m.port()))
            ok(c.ServiceReady())
            c.close()
    with Master("--listen", "127.0.0.2:0") as m:
        eq(sorted(a.rsplit(":", 1)[0] for a in listening(m.pid)), ["127.0.0.1", "127.0.0.2"], "two --listen")


def c90_refused():
    t0 = time.monotonic()
    subprocess.run([MCMASTERD, "--version"], stdout=subprocess.DEVNULL, check=True)
    limit = max(1, 20 * (time.monotonic() - t0))
    bad = {"::1:50051": "::1:50051", ":50051": ":50051", "127.0.0.1:65536": "65536", "127.0.0.1:x": "x",
           "127.0.0.1:-1": "-1", "127.0.0.1:": "127.0.0.1:", "[::1": "[::1", "[::1]x": "x", "256.0.0.1": "256.0.0.1",
           "1.2.3": "1.2.3", "no.such.host": "no.such.host", "nosuchif0": "nosuchif0", "": "--listen",
           "[fe80::1%nosuchif]:1": "nosuchif"}
    for text, part in bad.items():
        t0 = time.monotonic()
        p = subprocess.run([MCMASTERD, "--listen", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           stdin=subprocess.DEVNULL, timeout=LIMIT, check=False)
        took = time.monotonic() - t0
        eq((p.returncode, p.stdout), (2, ""), "--listen %r: status and stdout (%s)" % (text, p.stderr))
        eq(p.stderr.count("\n"), 1, "lines on stderr for %r" % text)
        true(part in p.stderr, "--listen %r: %r does not name %r" % (text, p.stderr, part))
        true(took < limit, "--listen %r took %.1f s: was a resolver asked?" % (text, took))
    with Master() as m:
        p = subprocess.run([MCMASTERD, "--listen", m.addresses()[0]], stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                           check=False)
        eq(p.returncode, 1, "status for a port in use")
        true(m.addresses()[0] in p.stderr and "in use" in p.stderr, p.stderr)


def c94_flags():
    bad = {("--lease-ttl-ms", "0"): "--lease-ttl-ms", ("--lease-ttl-ms", "5s"): "5s", ("--lease-ttl-ms", "-1"): "-1",
           ("--lease-ttl-ms", "99999999999999999999"): "--lease-ttl-ms", ("--lease-ttl-ms", ""): "--lease-ttl-ms",
           ("--nosuch",): "--nosuch", ("--lease-ttl-ms",): "--lease-ttl-ms", ("word",): "word",
           ("--log-level", "loud"): "loud", ("--cluster-uuid", "xyz"): "xyz",
           ("--lease-ttl-ms", "1", "--lease-ttl-ms", "2"): "twice",
           ("--put-discard-timeout-ms", "5000", "--put-release-timeout-ms", "5000"): "5000"}
    for flags, part in bad.items():
        p = subprocess.run([MCMASTERD] + list(flags), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=LIMIT, check=False)
        eq((p.returncode, p.stdout), (2, ""), "%s: status and stdout (%s)" % (flags, p.stderr))
        true(part in p.stderr, "%s: %r does not name %r" % (flags, p.stderr, part))
    with Master("--lease-ttl-ms", "1234", "--put-discard-timeout-ms", "2345", "--put-release-timeout-ms", "3456",
                "--cluster-uuid", "01234567-89ab-cdef-0123-456789abcdef") as m:
        s = m.client().MasterStatus()
        eq((s.lease_ttl_ms, s.discard_timeout_ms, s.release_timeout_ms, s.cluster_uuid.hex(), s.journal, s.auth),
           (1234, 2345, 3456, "0123456789abcdef0123456789abcdef", "none", "none"), "settings in MasterStatus")
        true(any("journal none: objects do not survive a restart" in x for x in m.lines), "start-up line")


def numbers():
    with Master() as m:
        c = m.client()
        mounted(c)
        mounted(c, n=2)
        for i in range(10):
            put(c, b"k%d" % i, 5000)
        for i in range(15):
            c.GetReplicaList(key=b"k%d" % i)
        r = c.PutStart(client_uuid=uuid("A"), key=b"w", length=1)
        c.PutRevoke(client_uuid=uuid("A"), key=b"w", token=r.token)
        s, segments = c.MasterStatus(), c.ListSegments().segments
        n = {x.name: x.value for x in s.counters}
        eq((n["GetReplicaList.calls"], n["GetReplicaList.failures"]), (15, 5), "gets and misses")
        eq((n["PutStart.calls"], n["PutEnd.calls"], n["PutRevoke.calls"]), (11, 10, 1), "puts")
        eq((s.objects, s.segments, s.nodes, s.writes_in_progress), (10, 2, 2, 0), "counts")
        eq((s.capacity, s.used, s.waiting), (sum(x.size for x in segments), sum(x.used for x in segments),
                                             sum(x.waiting for x in segments)), "totals and their parts")
        eq((s.used, s.waiting, sum(x.objects for x in segments)), (21 * 4096, 4096, 10), "bytes and objects")
        true({x.name: x.value for x in c.MasterStatus().counters} == n, "counters move while idle")
        code(c.ListSegments(name="nosuch"), -101)
        eq([x.name for x in c.ListSegments(name="pool2").segments], ["pool2"], "one segment by name")


def c31():
    """Leases end with their readers; the bytes that a grant may still read stay where they are."""
    with Master("--lease-ttl-ms", "20000") as m:
        c = m.client()
        mounted(c)
        with Keepalive(c):
            place = put(c, b"k", MIB).replicas[0]
            for who in "AB":
                ok(c.GetReplicaList(key=b"k", client_uuid=uuid(who)))
                ok(c.GetReplicaList(key=b"k", client_uuid=uuid(who)))
            eq(c.MasterStatus().leases, 2, "leases of two readers")
            code(c.Remove(key=b"k"), -706)
            code(c.ClientsGone(client_uuid=uuid("Z"), clients=[uuid("A")]), -103)
            ok(c.ClientsGone(client_uuid=uuid("C", 1), clients=[uuid("A"), uuid("Q")]))
            code(c.Remove(key=b"k"), -706)
            eq(c.MasterStatus().leases, 1, "leases when A is gone")
            ok(c.ClientsGone(client_uuid=uuid("C", 1), clients=[uuid("B")]))
            eq(c.MasterStatus().leases, 0, "leases when both are gone")
            # A call that A made before it died, and that comes only now.
            ok(c.GetReplicaList(key=b"k", client_uuid=uuid("A")))
            ok(c.BatchGetReplicaList(keys=[b"k"], client_uuid=uuid("B")).results[0])
            eq(c.MasterStatus().leases, 0, "leases after late calls")
            ok(c.Remove(key=b"k"))
            eq(c.MasterStatus().waiting, MIB, "bytes that a grant may still reach")
            true(put(c, b"other", MIB).replicas[0].offset != place.offset, "a range was reused under a grant")
            # Without a name a lease lasts its time, whoever is gone.
            put(c, b"l")
            ok(c.GetReplicaList(key=b"l"))
            ok(c.ClientsGone(client_uuid=uuid("C", 1), clients=[uuid("A")]))
            code(c.Remove(key=b"l"), -706)
            ok(c.Remove(key=b"l", force=True))
            code(c.GetReplicaList(key=b"other", client_uuid=b"short"), -600)


def c31_by_time():
    """A reader's lease ends by its time as well, and its object takes it along."""
    with Master("--lease-ttl-ms", "1500") as m:
        c = m.client()
        mounted(c)
        with Keepalive(c):
            put(c, b"k")
            put(c, b"l")
            for who in ("A", "B"):
                ok(c.GetReplicaList(key=b"k", client_uuid=uuid(who)))
                ok(c.GetReplicaList(key=b"l", client_uuid=uuid(who)))
            eq(c.MasterStatus().leases, 4, "leases")
            ok(c.Remove(key=b"l", force=True))
            eq(c.MasterStatus().leases, 2, "leases without the removed object's")
            wait(lambda: c.MasterStatus().leases == 0, "a lease that has ended is counted for ever")
            ok(c.Remove(key=b"k"))


if __name__ == "__main__":
    run(("C-1 an abandoned write blocks its key for 3 s and its space for 8 s", c1_taken_over),
        ("C-1 an abandoned write vanishes with no traffic at all", c1_vanishes),
        ("C-2 repeated and foreign finish calls are errors", c2_finish_calls),
        ("C-2 32 threads race for one key", c2_race),
        ("C-3 a put of an existing key says so, alone and in a batch", c3_exists_already),
        ("batches answer item by item, also for the same key twice", same_key_twice),
        ("C-20 the same key in two tenants is two objects", c20_tenants),
        ("C-20 names of tenants", c20_names),
        ("listing is sorted, by prefix, in pages", listing),
        ("what is out of bounds is refused and leaves nothing", bounds),
        ("leases protect, and only readers take them", leases),
        ("C-31 leases end with their readers", c31),
        ("C-31 and by their time", c31_by_time),
        ("C-90 exactly the asked address is bound", c90_listen),
        ("C-90 bad addresses are refused by name", c90_refused),
        ("flags are checked and shown", c94_flags),
        ("numbers add up", numbers))
