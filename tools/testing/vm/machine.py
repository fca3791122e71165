# SPDX-License-Identifier: MIT
"""Kinds of test machines. A kind knows how to start, signal and disconnect one node; Set in mcvm does the rest."""

import os
import signal
import socket
import struct
import subprocess
import time


class TcpCall:
    """A command of the agent over TCP: read() gives the bytes of its answer."""

    def __init__(self, port, payload):
        self.c = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.c.sendall(struct.pack("<I", len(payload)) + payload)

    def read(self, n, limit):
        """n bytes; socket.timeout when the time is over."""
        data = b""
        while len(data) < n:
            left = limit - time.monotonic()
            if left <= 0:
                raise socket.timeout
            self.c.settimeout(left)
            part = self.c.recv(n - len(data))
            if not part:
                raise ConnectionError("the agent went away")
            data += part
        return data

    def close(self):
        self.c.close()


class BoxCall:
    """The same through a directory that host and node share. The agent kills the command when this process is gone."""

    def __init__(self, box, payload, alive):
        self.alive, self.f = alive, None
        self.stem = os.path.join(box, "%d-%d" % (os.getpid(), time.monotonic_ns()))
        with open(self.stem + ".tmp", "wb") as f:
            f.write(payload)
        os.rename(self.stem + ".tmp", self.stem + ".req")

    def read(self, n, limit):
        data = b""
        while True:
            if self.f is None and os.path.exists(self.stem + ".ans"):
                self.f = open(self.stem + ".ans", "rb", buffering=0)
            if self.f is not None:
                data += self.f.read(n - len(data)) or b""
            if len(data) == n:
                return data
            if time.monotonic() > limit:
                raise socket.timeout
            if not self.alive():
                raise ConnectionError("the node went away")
            time.sleep(0.005)

    def close(self):
        if self.f is not None:
            self.f.close()
        for suffix in (".req", ".ans"):
            if os.path.exists(self.stem + suffix):
                os.unlink(self.stem + suffix)


class Machine:
    """One node. Subclasses implement start(), call() and link(); state is plain data, so it can be saved between calls."""

    kind = None
    lacks = ""      # tags of tests that need what no machine of this kind has

    def __init__(self, state):
        self.state = state

    def pid(self):
        return self.state.get("pid", 0)

    def alive(self):
        try:
            os.kill(self.pid(), 0)
        except (OSError, TypeError):
            return False
        try:
            with open("/proc/%d/stat" % self.pid()) as f:
                return f.read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def signal(self, sig):
        if self.pid() and self.alive():
            os.kill(self.pid(), sig)

    def kill(self):
        self.signal(signal.SIGKILL)
        limit = time.monotonic() + 10
        while self.alive() and time.monotonic() < limit:
            time.sleep(0.02)

    def start(self):
        raise NotImplementedError

    def call(self, payload):
        """Give the agent a command (words, each with a NUL) -> an object with read() and close()."""
        raise NotImplementedError

    def link(self, up, number=0):
        raise NotImplementedError


class Qemu(Machine):
    """QEMU with TCG: no KVM needed, no privileges needed."""

    kind = "qemu"

    def threads(self):
        """
        A processor that waits for a lock yields at once to the one that holds it only when both are one thread of the
        host; threads of their own help where the host has a processor for each, and then need not wait for a turn.
        """
        return "single" if self.state["smp"] > 1 and os.environ.get("MCVM_THREADS") != "multi" else "multi"

    def command(self):
        s = self.state
        node = s["node"]
        append = ("console=ttyS0 no_timer_check tsc=reliable loglevel=7 panic=-1 mc_node=%d %s"
                  % (node, s.get("append", "")))
        cmd = ["timeout", str(s["life"]), "qemu-system-x86_64", "-name", "mooncake-%s-%d" % (s["set"], node),
               "-M", "q35", "-accel", "tcg,thread=" + self.threads(), "-cpu", "max,-erms,-fsrm", "-smp", str(s["smp"]),
               "-m", str(s["mem"]), "-nodefaults", "-no-user-config", "-nographic", "-no-reboot",
               "-chardev", "file,id=con,path=%s,append=on" % s["console"], "-serial", "chardev:con",
               "-kernel", s["kernel"], "-initrd", s["initrd"], "-append", append,
               "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
               "-virtfs", "local,path=%s,mount_tag=share,security_model=none" % s["share"],
               "-monitor", "unix:%s,server=on,wait=off" % s["monitor"],
               "-netdev", "user,id=m0,restrict=on,hostfwd=tcp:127.0.0.1:%d-:7000" % s["port"],
               "-device", "virtio-net-pci,netdev=m0,mac=52:54:00:78:00:%02x,romfile=" % node]
        for k, netdev in enumerate(s["netdevs"]):
            cmd += ["-netdev", netdev,
                    "-device", "virtio-net-pci,netdev=n%d,mac=52:54:00:77:%02x:%02x,romfile=" % (k, k, node)]
        return cmd

    def start(self):
        s = self.state
        if os.path.exists(s["monitor"]):
            os.unlink(s["monitor"])
        with open(s["console"] + ".qemu", "ab") as log:
            p = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 start_new_session=True)
        s["wrapper"] = p.pid
        s["pid"] = p.pid
        limit = time.monotonic() + 10
        while time.monotonic() < limit:
            child = subprocess.run(["pgrep", "-P", str(p.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
            if child:
                s["pid"] = int(child[0])
                return
            if p.poll() is not None:
                break
            time.sleep(0.02)
        with open(s["console"] + ".qemu") as log:
            raise RuntimeError("node %d: QEMU did not start: %s" % (s["node"], log.read().strip()[-300:]))

    def call(self, payload):
        return TcpCall(self.state["port"], payload)

    def monitor(self, line):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as c:
            c.settimeout(10)
            c.connect(self.state["monitor"])
            text = b""
            while b"(qemu)" not in text:
                text += c.recv(4096)
            c.sendall(line.encode() + b"\n")
            text = b""
            while b"(qemu)" not in text:
                text += c.recv(4096)

    def link(self, up, number=0):
        self.monitor("set_link n%d %s" % (number, "on" if up else "off"))


class Uml(Machine):
    """User-Mode Linux: a kernel that is a program. One processor, no preemption, the host's speed."""

    kind = "uml"
    lacks = "smp hugetlb numa atomic mmio"

    def command(self, cables):
        s = self.state
        here = os.path.dirname(os.path.realpath(__file__))
        # Its system calls are answered by another process of the same machine: on one processor that is quickest.
        cmd = ["taskset", "-c", str((os.getpid() + s["node"]) % os.cpu_count()), s["kernel"],
               "mem=%dM" % s["mem"], "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
               "init=" + os.path.join(here, "uml-init"), "mc_share=" + s["share"], "con=null", "con0=null,fd:1",
               "loglevel=7", "panic=-1", "mc_node=%d" % s["node"], "mc_life=%d" % s["life"]]
        # Cards for the cables, which are ports of a switch in the node (uml-init). One packet at a time (vec=0): the driver's
        # queue takes its two locks in either order, which ends lockdep.
        cmd += ["vec%d:transport=fd,fd=%d,vec=0,mtu=9000,mac=52:54:00:79:%02x:%02x" % (k, c.fileno(), k, s["node"])
                for k, c in enumerate(cables)]
        return cmd + s.get("append", "").split()

    def start(self):
        s = self.state
        box = os.path.join(s["share"], "box%d" % s["node"])
        subprocess.run(["rm", "-rf", box], check=True)
        os.makedirs(box)
        cables = [Cable.end(path) for path in s.get("cables", [])]
        with open(s["console"], "ab") as log:
            p = subprocess.Popen(self.command(cables), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 start_new_session=True, env=dict(os.environ, TMPDIR="/dev/shm"),
                                 pass_fds=[c.fileno() for c in cables])
        for c in cables:
            c.close()
        s["pid"] = p.pid

    def signal(self, sig):
        """
        Its programs are processes of the host, all in the session of the first. To stop the kernel is enough for silence; its
        programs are traced and would tell it of a signal of their own.
        """
        if self.pid() and self.alive():
            if sig in (signal.SIGSTOP, signal.SIGCONT):
                os.kill(self.pid(), sig)
            else:
                os.killpg(self.pid(), sig)

    def call(self, payload):
        return BoxCall(os.path.join(self.state["share"], "box%d" % self.state["node"]), payload, self.alive)

    def link(self, up, number=0):
        """The end of the cable first, so that nothing comes through any more, then what the card sees of it."""
        s = self.state
        if not s.get("cables"):
            raise RuntimeError("node %d has no cable: it is alone" % s["node"])
        Cable.plug(os.path.dirname(s["cables"][0]), number, s["node"], up)
        self.carrier(up, number)

    def carrier(self, up, number):
        words = ["ip", "link", "set", "port%d" % number, "up" if up else "down"]
        call = self.call(b"".join(w.encode() + b"\0" for w in words))
        try:
            limit = time.monotonic() + 30
            kind, size = struct.unpack("<cI", call.read(5, limit))
            text = call.read(size, limit)
            if (kind, text) != (b"x", b"0"):
                raise RuntimeError("node %d: %s: %s" % (self.state["node"], " ".join(words), text.decode()))
        except socket.timeout:
            pass    # a node that is paused or stuck sees nothing of it
        finally:
            call.close()


class Cable:
    """The process that connects the nodes of a set of kind uml (cable.c)."""

    @staticmethod
    def start(directory, program, links, nodes, life):
        """-> its process number"""
        with open(os.path.join(directory, "cable.log"), "ab") as log:
            p = subprocess.Popen([program, directory, str(links), str(nodes), str(life)], stdin=subprocess.DEVNULL,
                                 stdout=log, stderr=log, start_new_session=True)
        limit = time.monotonic() + 10
        while not os.path.exists(os.path.join(directory, "cable.sock")):
            if p.poll() is not None or time.monotonic() > limit:
                with open(os.path.join(directory, "cable.log")) as log:
                    raise RuntimeError("the cable did not start: %s" % log.read().strip()[-300:])
            time.sleep(0.02)
        return p.pid

    @staticmethod
    def end(path):
        """-> a socket for a node's card, with room for what the card would lose when it is full"""
        c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        c.connect(path)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        return c

    @staticmethod
    def plug(directory, link, node, up):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as c:
            c.settimeout(10)
            c.connect(os.path.join(directory, "cable.sock"))
            c.sendall(b"%d %d %d" % (link, node, up))
            answer = c.recv(64)
            if answer != b"ok":
                raise RuntimeError("the cable answered %r" % answer)


KINDS = {k.kind: k for k in (Qemu, Uml)}
