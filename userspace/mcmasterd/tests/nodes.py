#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Nodes and segments as mcnoded sees them, with real time."""

import time

from libmaster import (LIMIT, MIB, Keepalive, Master, code, eq, make, mounted, node, ok, pb,
                       places, put, run, true, uuid, wait)

OK, REMOUNT = pb.CLIENT_OK, pb.CLIENT_NEED_REMOUNT


def ping(c, n, client=None, version=0, rails=None, **kw):
    return c.Ping(client_uuid=uuid("C", client or n), node=node(n, rails or (n,)), nodes_version=version, **kw)


def node_list():
    with Master() as m:
        c = m.client()
        first = ping(c, 1)
        ok(first)
        eq((first.state, [x.name for x in first.nodes]), (REMOUNT, ["node1"]), "first ping")
        again = ping(c, 1, version=first.nodes_version)
        eq((again.state, len(again.nodes), again.nodes_version), (OK, 0, first.nodes_version), "nothing new")
        second = ping(c, 2)
        true(second.nodes_version > first.nodes_version, "a new node did not change the version")
        news = ping(c, 1, version=first.nodes_version)
        eq([(x.node_uuid, x.name, x.rails[0].addr, x.rails[0].port) for x in news.nodes],
           [(uuid("N", n), "node%d" % n, bytes([10, 1, 0, n]), 50060) for n in (1, 2)], "nodes that node 1 hears of")
        moved = ping(c, 2, version=second.nodes_version, rails=(2, 9))
        true(moved.nodes_version > second.nodes_version, "a new rail did not change the version")
        eq([len(x.rails) for x in moved.nodes], [1, 2], "rails")
        ready = c.ServiceReady()
        eq((moved.clock_epoch, moved.now_ns <= ready.now_ns), (ready.clock_epoch, True), "clock")
        eq([(x.state, x.client_uuid) for x in c.ListNodes().nodes], [("ok", uuid("C", 1)), ("need_remount", uuid("C", 2))],
           "ListNodes")


def duplicate():
    with Master("--client-ttl-ms", "1500") as m:
        c = m.client()
        ok(ping(c, 1))
        twin = ping(c, 1, client=99, rails=(77,))
        code(twin, -601)
        true("10.1.0.1:50060" in twin.status.message and "10.1.0.77:50060" in twin.status.message,
             "both addresses in %r" % twin.status.message)
        wait(lambda: ping(c, 1, client=99, rails=(77,)).status.code == 0, "the UUID of a dead node was never free")
        code(ping(c, 1), -601)


def bad_pings():
    with Master("--cluster-uuid", "43" * 16) as m:
        c = m.client()
        ok(ping(c, 1, cluster_uuid=b"C" * 16))
        code(ping(c, 1, cluster_uuid=b"D" * 16), -600)
        code(c.Ping(client_uuid=uuid("C")), -600)
        code(c.Ping(client_uuid=b"", node=node()), -600)
        code(c.Ping(client_uuid=uuid("C"), node=pb.Node(node_uuid=b"short")), -600)
        rail = make("Rail")
        for bad in ([rail(id=0, addr=b"1234", port=1)], [rail(id=1, addr=b"12345", port=1)],
                    [rail(id=1, addr=b"1234", port=0)], [rail(id=1, addr=b"1234", port=65536)],
                    [rail(id=1, addr=b"1234", port=1)] * 2, [rail(id=1, addr=b"1234", port=1, device="d" * 64)],
                    [rail(id=i + 1, addr=b"1234", port=1) for i in range(17)]):
            code(c.Ping(client_uuid=uuid("C", 5), node=pb.Node(node_uuid=uuid("N", 5), rails=bad)), -600)
        for name in ("n" * 256, "a\0b", "a\nb"):
            code(c.Ping(client_uuid=uuid("C", 5), node=pb.Node(node_uuid=uuid("N", 5), name=name)), -600)
        eq(len(c.ListNodes().nodes), 1, "nodes that were let in")


def mounts():
    with Master() as m:
        c = m.client()
        mount = dict(client_uuid=uuid("C", 1), node_uuid=uuid("N", 1), segment_uuid=uuid("S", 1), name="pool", size=MIB)
        code(c.MountSegment(**mount), -103)
        ok(ping(c, 1))
        ok(c.MountSegment(**mount))
        ok(c.MountSegment(**mount))
        for change in (dict(size=2 * MIB), dict(name="other"), dict(size=0), dict(size=5000), dict(name=""),
                       dict(segment_uuid=b"x"), dict(segment_uuid=bytes(16))):
            code(c.MountSegment(**dict(mount, **change)), -600)
        ok(ping(c, 2))
        code(c.MountSegment(**dict(mount, client_uuid=uuid("C", 2), node_uuid=uuid("N", 2))), -102)
        code(c.UnmountSegment(client_uuid=uuid("C", 2), segment_uuid=uuid("S", 1)), -601)
        put(c, b"k")
        eq([(x.name, x.size, x.objects, x.node_name) for x in c.ListSegments().segments], [("pool", MIB, 1, "node1")],
           "segments")
        ok(c.UnmountSegment(client_uuid=uuid("C", 1), segment_uuid=uuid("S", 1)))
        ok(c.UnmountSegment(client_uuid=uuid("C", 1), segment_uuid=uuid("S", 1)))
        code(c.GetReplicaList(key=b"k"), -704)
        eq(len(c.ListSegments().segments), 0, "segments after unmount")


def c52_descriptions():
    """What a node publishes does not grow with its memory; what is too long is refused and harms nothing."""
    tib, parts = 1 << 40, 1000
    with Master() as m:
        c = m.client()
        me = pb.Node(node_uuid=uuid("N", 1), name="big", rails=[
            pb.Rail(id=i + 1, addr=bytes([10, 1, i, 1]), port=50060, device="mlx5_%d" % i) for i in range(8)])
        who = dict(client_uuid=uuid("C", 1), node_uuid=uuid("N", 1))
        ok(c.Ping(client_uuid=uuid("C", 1), node=me))
        sizes = []
        for i in range(parts):
            mount = make("MountSegmentRequest")(segment_uuid=uuid("S", i + 1), name="part%d" % i, size=tib // parts // 4096 * 4096,
                                                **who)
            sizes.append(mount.ByteSize())
            ok(c.MountSegment(**{f.name: v for f, v in mount.ListFields()}))
        ok(c.MountSegment(segment_uuid=uuid("S", parts + 1), name="whole", size=tib, **who))
        listed = c.ListSegments()
        eq(len(listed.segments), parts + 1, "segments")
        true(max(sizes) < 256, "a mount of %d bytes" % max(sizes))
        true(listed.ByteSize() < MIB, "a list of %d bytes" % listed.ByteSize())
        true(c.Ping(client_uuid=uuid("C", 1), node=me).ByteSize() < 4096, "the list of nodes carries segments")
        code(c.MountSegment(segment_uuid=uuid("S", 9999), name="n" * 2 * MIB, size=MIB, **who), -600)
        code(c.Ping(client_uuid=uuid("C", 1), node=pb.Node(node_uuid=uuid("N", 1), name="big", rails=list(me.rails) * 9000)), -600)
        eq(len(c.ListSegments().segments), parts + 1, "segments after what was refused")
        put(c, b"k")


def outlives_mcnoded():
    """The pool stays when mcnoded is restarted; so do its objects."""
    with Master() as m:
        c = m.client()
        mounted(c, name="pool")
        put(c, b"k")
        before = places(c.GetReplicaList(key=b"k"))
        eq(ping(c, 1, client=50).state, REMOUNT, "state of the new run")
        ok(c.MountSegment(client_uuid=uuid("C", 50), node_uuid=uuid("N", 1), segment_uuid=uuid("S", 1), name="pool",
                          size=64 * MIB))
        eq(places(c.GetReplicaList(key=b"k")), before, "replicas after the new run's mount")
        code(ping(c, 1, client=1), -601)


def expiry():
    with Master("--client-ttl-ms", "2000") as m:
        c = m.client()
        mounted(c, 1)
        mounted(c, 2)
        r = c.PutStart(client_uuid=uuid("A"), key=b"k", length=1, config=pb.ReplicateConfig(
            replica_num=2, preferred_segments=["pool1"]))
        eq([x.segment_name for x in r.replicas], ["pool1", "pool2"], "places")
        ok(c.PutEnd(client_uuid=uuid("A"), key=b"k", token=r.token))
        with Keepalive(c, 2):
            wait(lambda: [x.state for x in c.ListNodes().nodes][:1] == ["gone"], "node 1 was never gone")
            eq([x.segment_name for x in c.GetReplicaList(key=b"k").replicas], ["pool2"], "replicas that are left")
            wait(lambda: [x.node.name for x in c.ListNodes().nodes] == ["node2"], "node 1 was never forgotten")
        ok(ping(c, 1))


if __name__ == "__main__":
    run(("the node list travels with the pings", node_list),
        ("a duplicate node is refused with both addresses", duplicate),
        ("pings that are refused", bad_pings),
        ("mount and unmount", mounts),
        ("C-52 descriptions stay small", c52_descriptions),
        ("a pool outlives mcnoded", outlives_mcnoded),
        ("a silent node expires, its copies with it", expiry))
