#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Nothing that arrives may stop the master, make it grow without bound, or keep it from its other callers."""

import os
import random
import socket
import struct
import threading
import time

from libmaster import (LIMIT, LONG, MIB, Master, code, eq, mounted, node, ok, pb, put, run, true, uuid, wait,
                       wait_rested)

SEED = int(os.environ.get("MC_SEED") or "0", 0) or random.SystemRandom().randrange(1, 1 << 32)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, body=b""):
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def field(name, value):
    """A header without compression; lengths below 127."""
    def text(b):
        if len(b) < 127:
            return bytes([len(b)]) + b
        n, out = len(b) - 127, b"\x7f"
        while n >= 128:
            out += bytes([n % 128 | 128])
            n //= 128
        return out + bytes([n]) + b
    return b"\x00" + text(name) + text(value)


def request(path=b"/mooncake.v1.Master/ServiceReady", method=b"POST", ctype=b"application/grpc", extra=()):
    out = field(b":method", method) + field(b":scheme", b"http") + field(b":path", path) + field(b":authority", b"t")
    if ctype:
        out += field(b"content-type", ctype)
    for name, value in extra:
        out += field(name, value)
    return out


def message(body=b""):
    return b"\0" + struct.pack(">I", len(body)) + body


class Raw:
    """An HTTP/2 connection made by hand; by its settings the server compresses no header by reference."""

    def __init__(self, m, settings=struct.pack(">HI", 1, 0), rcvbuf=None):
        self.s = socket.socket()
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.settimeout(LIMIT)
        self.s.connect(("127.0.0.1", m.port()))
        self.s.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        self.buffer = b""

    def send(self, *frames):
        self.s.sendall(b"".join(frames))

    def frame(self):
        """-> (kind, flags, stream, body) or None at the end"""
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            try:
                got = self.s.recv(65536)
            except ConnectionError:
                got = b""
            if not got:
                return None
            self.buffer += got
        n = int.from_bytes(self.buffer[:3], "big")
        head, body = self.buffer[:9], self.buffer[9:9 + n]
        self.buffer = self.buffer[9 + n:]
        return head[3], head[4], int.from_bytes(head[5:9], "big"), body

    def until(self, kind, stream, last=True):
        """Bodies of this kind's frames on this stream; with last up to the one that ends the stream."""
        out = b""
        while True:
            f = self.frame()
            true(f, "the connection ended before frame %d of stream %d" % (kind, stream))
            if f[0] == RST and f[2] == stream and kind != RST:
                raise AssertionError("stream %d was reset: %d" % (stream, int.from_bytes(f[3], "big")))
            if f[0] == kind and f[2] == stream:
                out += f[3]
                if not last or f[1] & END_STREAM:
                    return out

    def close(self):
        self.s.close()


def grpc_status(headers):
    """The number behind grpc-status in a header block: a name in Huffman code, a value so short that it is plain."""
    at = headers.index(bytes.fromhex("9acac8b21234da8f")) + 8
    return headers[at + 1:at + 1 + headers[at]]


def still_serves(m):
    c = m.client()
    ok(c.ServiceReady())
    true(m.alive(), "the master stopped")
    eq(m.proc.pid, m.pid)


def bad_calls():
    with Master() as m:
        c = m.client()
        p = "/mooncake.v1.Master/"
        for path in (p + "NoSuch", p, "/mooncake.v1.Master", "/other.Service/Ping", p + "Ping/", p + "ping", "/"):
            eq(c.raw(path, b"")[0], "UNIMPLEMENTED", "status of %s" % path)
        for body in (b"\xff", b"\x0a\x05abc", b"\x08", b"\x00\x00", b"\x0a\xff\xff\xff\xff\x0f", b"\x0f\x01", b"\x0b\x0c",
                     b"\x0a" + b"\xff" * 11):
            status, text = c.raw(p + "PutStart", body)
            eq(status, "INVALID_ARGUMENT", "status of body %r" % body)
            true("PutStart" in text and str(len(body)) in text, text)
        # Unknown fields are the future's; a nested message that breaks is not.
        eq(c.raw(p + "ExistKey", b"\x12\x01k\xfa\x07\x03abc")[0], "OK", "unknown field")
        eq(c.raw(p + "Ping", b"\x12\x02\x0a\x05")[0], "INVALID_ARGUMENT", "broken nested message")
        still_serves(m)


def message_sizes():
    with Master() as m:
        c = m.client()
        p = "/mooncake.v1.Master/ExistKey"
        body = b"\xfa\x07" + b"\x80\x80\x80\x20"        # an unknown field of 64 MiB
        eq(c.raw(p, body[:2] + b"\xf6\xff\xff\x1f" + bytes(64 * MIB - 10))[0], "OK", "a request of just 64 MiB")
        status, text = c.raw(p, body + bytes(64 * MIB))
        eq(status, "RESOURCE_EXHAUSTED", "a request above 64 MiB")
        true("67108864" in text, text)
        eq(c.raw("/mooncake.v1.Master/BatchExistKey", b"\x12\x00" * (600 << 10))[0], "RESOURCE_EXHAUSTED",
           "more fields than are taken")
        eq(c.raw("/mooncake.v1.Master/BatchExistKey", b"\x12\x00" * 65537)[0], "RESOURCE_EXHAUSTED", "65537 items")
        eq(len(c.BatchExistKey(keys=[b"k"] * 65536).results), 65536, "results of the largest batch")
        still_serves(m)


def bad_http():
    with Master() as m:
        r = Raw(m)
        r.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, request(method=b"GET")))
        true(b"405" in r.until(HEADERS, 1), "a GET is not refused with 405")
        r.send(frame(HEADERS, END_HEADERS, 3, request(ctype=b"text/plain")), frame(DATA, END_STREAM, 3, message()))
        true(b"415" in r.until(HEADERS, 3), "text/plain is not refused with 415")
        r.send(frame(HEADERS, END_HEADERS, 5, request()), frame(DATA, END_STREAM, 5, message()[:3]))
        eq(grpc_status(r.until(HEADERS, 5)), b"3", "status of half a frame")
        r.send(frame(HEADERS, END_HEADERS | END_STREAM, 7, request()))
        eq(grpc_status(r.until(HEADERS, 7)), b"3", "status of no message")
        r.send(frame(HEADERS, END_HEADERS, 9, request()), frame(DATA, END_STREAM, 9, message() * 2))
        eq(grpc_status(r.until(HEADERS, 9)), b"3", "status of two messages")
        r.send(frame(HEADERS, END_HEADERS, 11, request()), frame(DATA, END_STREAM, 11, b"\x01\0\0\0\0"))
        eq(grpc_status(r.until(HEADERS, 11)), b"12", "status of a compressed message")
        r.send(frame(HEADERS, END_HEADERS, 13, request(extra=[(b"x-a", b"y" * 12000), (b"x-b", b"y" * 4200)])),
               frame(DATA, END_STREAM, 13, message()))
        eq(grpc_status(r.until(HEADERS, 13)), b"8", "status of 16 KiB of headers")
        r.send(frame(HEADERS, END_HEADERS, 15, request()), frame(DATA, END_STREAM, 15, message()))
        got = r.until(DATA, 15, last=False)
        reply = pb.ServiceReadyReply.FromString(got[5:])
        ok(reply)
        eq(grpc_status(r.until(HEADERS, 15)), b"0", "status of a good call behind the bad ones")
        r.close()
        still_serves(m)


def deadline():
    with Master() as m:
        r = Raw(m)
        start = time.monotonic()
        r.send(frame(HEADERS, END_HEADERS, 1, request(extra=[(b"grpc-timeout", b"100m")])), frame(DATA, 0, 1, b"\0"))
        eq(grpc_status(r.until(HEADERS, 1)), b"4", "status of a call that is never complete")
        true(time.monotonic() - start >= 0.1, "the deadline came too early")
        r.close()


def fuzz_connection(m, rnd):
    good = (PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, request(path=b"/mooncake.v1.Master/Ping")) +
            frame(DATA, END_STREAM, 1, message(b"\x0a\x10" + uuid("C") + b"\x12\x12\x0a\x10" + uuid("N"))) +
            frame(HEADERS, END_HEADERS, 3, request(path=b"/mooncake.v1.Master/List")) +
            frame(DATA, END_STREAM, 3, message(b"\x0a\x01a")))
    kind = rnd.randrange(4)
    if kind == 0:
        data = rnd.randbytes(rnd.randrange(1, 3000))
    elif kind == 1:
        data = PREFACE + b"".join(frame(rnd.randrange(12), rnd.randrange(256), rnd.choice([0, 1, 2, 3, 5, 1 << 31 | 1]),
                                        rnd.randbytes(rnd.randrange(60))) for _ in range(rnd.randrange(1, 20)))
    else:
        data = bytearray(good)
        for _ in range(rnd.randrange(1, 8)):
            data[rnd.randrange(len(PREFACE) if kind == 2 else 0, len(data))] = rnd.randrange(256)
        data = bytes(data[:rnd.randrange(1, len(data) + 1)]) if rnd.randrange(3) == 0 else bytes(data)
    s = socket.create_connection(("127.0.0.1", m.port()), LIMIT)
    try:
        s.sendall(data)
        if rnd.randrange(2):
            s.settimeout(0.01)
            s.recv(65536)
    except OSError:
        pass
    s.close()


def fuzz():
    print("# MC_SEED=%d" % SEED)
    rnd = random.Random(SEED)
    with Master("--log-level", "error") as m:
        for i in range(20000 if LONG else 1000):
            fuzz_connection(m, rnd)
            true(m.alive(), "the master stopped in round %d of seed %d" % (i, SEED))
        still_serves(m)


def fuzz_bodies():
    """Valid HTTP/2, noise inside: every call is answered."""
    print("# MC_SEED=%d" % SEED)
    rnd = random.Random(SEED + 1)
    with Master("--log-level", "error") as m:
        c = m.client()
        mounted(c)
        put(c, b"k")
        names = ["Ping", "MountSegment", "UnmountSegment", "ListSegments", "ListNodes", "MasterStatus", "ExistKey",
                 "BatchExistKey", "GetReplicaList", "BatchGetReplicaList", "PutStart", "BatchPutStart", "PutEnd",
                 "BatchPutEnd", "PutRevoke", "BatchPutRevoke", "Remove", "BatchRemove", "List"]
        full = pb.BatchPutStartRequest(client_uuid=uuid("A"), tenant="t", keys=[b"a", b"b"], lengths=[1, 1 << 40],
                                       config=pb.ReplicateConfig(replica_num=3, preferred_segments=["x", "y"]))
        seeds = [full.SerializeToString(), pb.PingRequest(client_uuid=uuid("C"), node=pb.Node(
            node_uuid=uuid("N"), name="n", rails=[pb.Rail(id=1, addr=b"\x7f\0\0\1", port=1)])).SerializeToString()]
        for i in range(20000 if LONG else 2000):
            body = bytearray(rnd.choice(seeds) if rnd.randrange(3) else rnd.randbytes(rnd.randrange(80)))
            for _ in range(rnd.randrange(4)):
                if body:
                    body[rnd.randrange(len(body))] = rnd.randrange(256)
            status, _ = c.raw("/mooncake.v1.Master/" + rnd.choice(names), bytes(body))
            true(status in ("OK", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"), "round %d: %s" % (i, status))
        still_serves(m)


def crowd():
    """Many connections with many calls each, at once."""
    errors, count = [], [0]
    lock = threading.Lock()

    def caller(c, k):
        try:
            calls = [c.GetReplicaList] * 20
            for i, f in enumerate(calls):
                r = f(key=b"key%d" % (i % 3))
                eq(r.status.code, 0 if i % 3 == 0 else -704)
            with lock:
                count[0] += len(calls)
        except BaseException as e:      # pylint: disable=broad-except
            errors.append("caller %d: %r" % (k, e))

    with Master() as m:
        clients = [m.client() for _ in range(32)]
        mounted(clients[0])
        put(clients[0], b"key0")
        threads = [threading.Thread(target=caller, args=(clients[k % 32], k)) for k in range(128)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(LIMIT)
        eq(errors, [], "callers that failed")
        eq(count[0], 128 * 20, "calls answered")
        n = {x.name: x.value for x in clients[0].MasterStatus().counters}
        eq(n["GetReplicaList.calls"], 128 * 20, "calls counted")


def slow_reader():
    """One that asks for gigabytes and reads nothing: bounded memory, and the others don't notice."""
    with Master() as m:
        c = m.client()
        mounted(c, size=256 * MIB)
        keys = [b"%04d" % i + b"x" * 4092 for i in range(1000)]
        r = c.BatchPutStart(client_uuid=uuid("A"), keys=keys, lengths=[1] * 1000)
        c.BatchPutEnd(items=[pb.PutEndRequest(client_uuid=uuid("A"), key=k, token=x.token)
                             for k, x in zip(keys, r.results)])
        eq(len(c.List().objects), 1000, "objects")
        before = m.rss()
        slow = Raw(m, settings=struct.pack(">HI", 4, 0), rcvbuf=4096)
        for i in range(250):
            slow.send(frame(HEADERS, END_HEADERS, 2 * i + 1, request(path=b"/mooncake.v1.Master/List")),
                      frame(DATA, END_STREAM, 2 * i + 1, message(pb.ListRequest().SerializeToString())))
        # 250 replies of 4 MB each: all of them are made (counted), few of them may be kept.
        end = time.monotonic() + LIMIT
        while {x.name: x.value for x in c.MasterStatus().counters}["List.calls"] < 251:
            true(time.monotonic() < end, "the slow reader's calls were not carried out")
            time.sleep(0.05)
        grown = m.rss() - before
        true(grown < 300 * MIB, "%d MiB held for a reader that takes nothing" % (grown // MIB))
        still_serves(m)
        slow.close()


def no_descriptors():
    """Out of descriptors: whoever is connected is served, the rest waits, and nothing spins."""
    with Master(nofile=40) as m:
        c = m.client()
        ok(c.ServiceReady())
        socks = []
        for _ in range(100):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", m.port()))
            socks.append(s)
        end = time.monotonic() + LIMIT
        while not any("can't accept" in x for x in m.lines):
            true(time.monotonic() < end, "descriptors never ran out")
            time.sleep(0.05)
        ok(c.ServiceReady())
        # Who spins wants the processor whenever one looks, however busy the machine is; who waits hardly ever does.
        running = 0
        for _ in range(40):
            time.sleep(0.05)
            with open("/proc/%d/stat" % m.pid) as f:
                running += f.read().rsplit(")", 1)[1].split()[0] == "R"
        true(running < 20, "ready to run in %d of 40 looks while it should wait" % running)
        true(sum("can't accept" in x for x in m.lines) <= 3, "a line for each failed accept")
        for s in socks:
            s.close()
        still_serves(m)


def half_open():
    """Connections that say nothing or stop in the middle of a frame are dropped; idle good ones are kept."""
    with Master() as m:
        c = m.client()
        ok(c.ServiceReady())
        silent = socket.create_connection(("127.0.0.1", m.port()), LIMIT)
        partial = socket.create_connection(("127.0.0.1", m.port()), LIMIT)
        partial.sendall(PREFACE[:10])
        for s in (silent, partial):
            s.settimeout(LIMIT)
            while True:
                try:
                    if not s.recv(4096):
                        break
                except ConnectionError:
                    break
        # The connection may be seen to end before the line that says why is read.
        wait(lambda: sum("no HTTP/2 within" in x for x in m.lines) == 2, "no line for each dropped connection")
        ok(c.ServiceReady())


def stop_while_busy():
    for _ in range(3):
        with Master() as m:
            c = m.client()
            ok(c.ServiceReady())
            idle = Raw(m)
            eq(idle.frame()[0], SETTINGS, "first frame")
            start = time.monotonic()
            eq(m.stop(), 0, "exit status")
            true(time.monotonic() - start < LIMIT, "slow to stop")
            seen = []
            while True:
                f = idle.frame()
                if not f:
                    break
                seen.append(f[0])
            true(GOAWAY in seen, "no GOAWAY before the connection ended")


def restart():
    """A master that lost everything says so: unknown keys, and nodes are told to mount again."""
    with Master() as m:
        port = m.port()
        c = m.client()
        mounted(c)
        put(c, b"k")
        epoch = c.ServiceReady().clock_epoch
        version = c.MasterStatus()
        m.stop(9)
        true(version.objects == 1, "object before the kill")
        m.proc.returncode = 0
    with Master(listen="127.0.0.1:%d" % port) as m:
        c = m.client()
        code(c.GetReplicaList(key=b"k"), -704)
        true(c.ServiceReady().clock_epoch != epoch, "the clock's epoch survived a restart")


def restart_wrong_reads():
    """Readers that the old master sent may still be reading: their ranges take nothing new for a while."""
    with Master() as m:
        port = m.port()
        c = m.client()
        mounted(c)
        put(c, b"k")
        version = c.Ping(client_uuid=uuid("C", 1), node=node(1, (1,))).nodes_version
        m.stop(9)
        m.proc.returncode = 0
    with Master("--restart-rest-ms", "2000", listen="127.0.0.1:%d" % port) as m:
        c = m.client()
        r = c.Ping(client_uuid=uuid("C", 1), node=node(1, (1,)), nodes_version=version)
        eq(r.state, pb.CLIENT_NEED_REMOUNT, "state after the restart")
        mount = dict(client_uuid=uuid("C", 1), node_uuid=uuid("N", 1), segment_uuid=uuid("S", 1), name="pool1",
                     size=64 * MIB)
        ok(c.MountSegment(**mount))
        wait_rested(c, time.monotonic(), 1)
        eq(c.ListSegments().segments[0].state, "ok", "state after the rest")


if __name__ == "__main__":
    run(("calls that don't exist or don't parse", bad_calls),
        ("C-2 no stream of bytes stops the master", fuzz),
        ("C-2 no message body stops the master", fuzz_bodies),
        ("messages above 64 MiB and batches above their limit", message_sizes),
        ("HTTP/2 that is not a gRPC call", bad_http),
        ("a call's deadline holds", deadline),
        ("128 callers on 32 connections", crowd),
        ("a slow reader is bounded", slow_reader),
        ("out of file descriptors", no_descriptors),
        ("connections that say nothing are dropped", half_open),
        ("SIGTERM with connections open", stop_while_busy),
        ("a restarted master remembers nothing and says so", restart),
        ("C-32 a restarted master hands out nothing that old readers may touch", restart_wrong_reads))
