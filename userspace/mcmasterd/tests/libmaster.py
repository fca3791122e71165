# SPDX-License-Identifier: MIT
"""What the master's tests share: a mcmasterd of their own, a stock gRPC client for it, and TAP.

The client is Debian's python3-grpcio with messages that protoc makes from userspace/proto/mooncake.proto at run time, so
that nothing but the contract connects it with the server.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import grpc
from grpc_tools import protoc

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
MCMASTERD = os.environ.get("MCMASTERD", os.path.join(TOP, "build/user/bin/mcmasterd"))
LONG = os.environ.get("MC_LONG", "") not in ("", "0")
TMP = tempfile.mkdtemp(prefix="mcmaster-")
LIMIT = 30      # s: no call and no start may take longer
MIB = 1 << 20


def _messages():
    proto = os.path.join(TOP, "userspace/proto")
    if protoc.main(["protoc", "-I" + proto, "--python_out=" + TMP, os.path.join(proto, "mooncake.proto")]):
        sys.exit("can't compile mooncake.proto")
    sys.path.insert(0, TMP)
    import mooncake_pb2
    return mooncake_pb2


pb = _messages()
SERVICE = pb.DESCRIPTOR.services_by_name["Master"]


def make(name):
    return getattr(pb, name)


class Client:
    """Any method of the contract by its name: client.PutStart(key=b"k", ...) -> PutStartReply."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1),
                                                               ("grpc.max_send_message_length", -1),
                                                               ("grpc.use_local_subchannel_pool", 1)])

    def __getattr__(self, name):
        method = SERVICE.methods_by_name[name]
        request, reply = make(method.input_type.name), make(method.output_type.name)
        call = self.channel.unary_unary("/mooncake.v1.Master/" + name, request_serializer=request.SerializeToString,
                                        response_deserializer=reply.FromString)

        def invoke(**fields):
            return call(request(**fields), timeout=LIMIT, wait_for_ready=True)

        setattr(self, name, invoke)
        return invoke

    def raw(self, path, body, timeout=LIMIT):
        """-> (grpc status name, text)"""
        call = self.channel.unary_unary(path, request_serializer=lambda b: b, response_deserializer=lambda b: b)
        try:
            call(body, timeout=timeout, wait_for_ready=True)
            return "OK", ""
        except grpc.RpcError as e:
            return e.code().name, e.details()

    def close(self):
        self.channel.close()


class Master:
    """One mcmasterd on a free port of 127.0.0.1."""

    def __init__(self, *flags, listen="127.0.0.1:0", nofile=None):
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))) if nofile else None
        args = [MCMASTERD] + (["--listen", listen] if listen else []) + list(flags)
        self.proc = subprocess.Popen(args, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                     preexec_fn=limit)
        self.lines, self.clients = [], []
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if not self.ready.wait(LIMIT) or not self.addresses():
            self.proc.kill()
            raise AssertionError("mcmasterd did not start: %s" % self.lines)
        self.pid = self.proc.pid

    def _read(self):
        for line in self.proc.stderr:
            self.lines.append(line.rstrip())
            if "listening on" in line:
                self.ready.set()
        self.ready.set()

    def addresses(self):
        return [m.group(1) for m in (re.search(r"listening on (\S+)", x) for x in self.lines) if m]

    def client(self):
        c = Client(self.addresses()[0])
        self.clients.append(c)
        return c

    def port(self):
        return int(self.addresses()[0].rsplit(":", 1)[1])

    def alive(self):
        return self.proc.poll() is None

    def rss(self):
        with open("/proc/%d/status" % self.pid) as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) * 1024

    def stop(self, sig=signal.SIGTERM):
        """-> exit status"""
        if self.alive():
            self.proc.send_signal(sig)
        try:
            status = self.proc.wait(timeout=LIMIT)
        finally:
            self.proc.kill()
        for c in self.clients:
            c.close()
        self.reader.join(LIMIT)
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        status = self.stop()
        if kind is None:
            eq(status, 0, "exit status after SIGTERM")
            for line in self.lines:
                if "ERROR: " in line or "runtime error" in line or "SUMMARY" in line:
                    raise AssertionError("sanitizer: " + line)


def uuid(kind, n=0):
    return kind.encode() * 12 + n.to_bytes(4, "big")


def node(n=1, rails=(1,), name=None):
    return pb.Node(node_uuid=uuid("N", n), name=name or "node%d" % n,
                   rails=[pb.Rail(id=i + 1, addr=bytes([10, 1, i, r]), port=50060) for i, r in enumerate(rails)])


def mounted(client, n=1, size=64 * MIB, name=None, seg=None):
    """Register node n and mount one segment of it."""
    ok(client.Ping(client_uuid=uuid("C", n), node=node(n, (n,))))
    ok(client.MountSegment(client_uuid=uuid("C", n), node_uuid=uuid("N", n), segment_uuid=uuid("S", seg or n),
                           name=name or "pool%d" % n, size=size))


class Keepalive:
    """mcnoded's part: a ping a second for node n, so that it does not expire."""

    def __init__(self, client, n=1):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(client, n), daemon=True)
        self.thread.start()

    def _run(self, client, n):
        while not self.stop.wait(0.5):
            client.Ping(client_uuid=uuid("C", n), node=node(n, (n,)))

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.stop.set()
        self.thread.join(LIMIT)


def put(client, key, length=4096, tenant="", who=7):
    r = client.PutStart(client_uuid=uuid("A", who), tenant=tenant, key=key, length=length)
    ok(r)
    ok(client.PutEnd(client_uuid=uuid("A", who), tenant=tenant, key=key, token=r.token))
    return r


def places(reply):
    """Replicas without their grants, which each look-up renews."""
    copies = [pb.Replica.FromString(r.SerializeToString()) for r in reply.replicas]
    for r in copies:
        r.ClearField("grant")
    return copies


def used(client):
    return client.MasterStatus().used


def eq(got, want, what="value"):
    if got != want:
        raise AssertionError("%s: got %r, expected %r" % (what, got, want))


def true(cond, what):
    if not cond:
        raise AssertionError(what)


def wait(cond, what):
    end = time.monotonic() + LIMIT
    while not cond():
        true(time.monotonic() < end, what)
        time.sleep(0.05)


def code(reply, want):
    eq(reply.status.code, want, "status (%s: %s)" % (reply.status.name, reply.status.message))
    eq(reply.status.name, pb.ErrorCode.Name(want), "name of the status")
    true(bool(reply.status.message) == (want != 0), "message %r with code %d" % (reply.status.message, want))


def ok(reply):
    code(reply, 0)


def codes(reply):
    return [getattr(r, "status", r).code for r in reply.results]


class Skip(Exception):
    pass


def wait_rested(c, start, certain):
    """A segment that another master had takes nothing for a while; it surely rests `certain` seconds from the start on."""
    r = c.PutStart(client_uuid=uuid("A"), key=b"new", length=1)
    if time.monotonic() < start + certain:
        code(r, -200)
        true("rest" in r.status.message, r.status.message)
    while c.PutStart(client_uuid=uuid("A"), key=b"later", length=1).status.code == -200:
        true(time.monotonic() < start + LIMIT, "the rest never ended")
        time.sleep(0.05)


def run(*tests):
    """tests: (name, function). Prints TAP and exits."""
    failed = 0
    only = os.environ.get("MC_TEST", "")
    tests = [t for t in tests if only in t[0]]
    print("1..%d" % len(tests), flush=True)
    for number, (name, function) in enumerate(tests, 1):
        verdict, extra = "ok", ""
        try:
            function()
        except Skip as e:
            extra = " # SKIP %s" % e
        except BaseException:       # pylint: disable=broad-except
            verdict = "not ok"
            failed += 1
            for line in traceback.format_exc().splitlines():
                print("# " + line)
        print("%s %d - %s%s" % (verdict, number, name, extra), flush=True)
    shutil.rmtree(TMP, ignore_errors=True)
    sys.stdout.flush()
    os._exit(1 if failed else 0)
