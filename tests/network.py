"""Hosts with a network of their own on this machine: Linux network namespaces on one bridge, whose
links can be cut one way or both, without a word to either end.

A packet that is cut goes to a hardware address that nobody has, so it is lost as on a broken wire:
no reset, no "unreachable".
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_CLONE_NEWNET = 0x40000000  # linux/sched.h
_NOBODY = "02:00:00:00:00:00"
# Set aside for measurements between networks (RFC 2544): nobody's real address.
_NET = "198.18"
HERE = ""
"""The name of the host that the tests run on."""


@dataclass(frozen=True)
class Host:
    """One host: its name and its address."""

    name: str
    address: str
    namespace: str

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What this thread starts meanwhile lives on the host; nothing may be awaited."""
        with (
            open("/proc/thread-self/ns/net") as back,
            open(f"/run/netns/{self.namespace}") as there,
        ):
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(back.fileno())


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "cannot enter the network namespace")


@dataclass
class Network:
    """Hosts that reach each other and this one, as long as nothing is cut."""

    bridge: str
    here: Host
    hosts: dict[str, Host] = field(default_factory=dict)
    _lost: set[tuple[str, str]] = field(default_factory=set)

    def cut(self, sender: str, receiver: str) -> None:
        """From now on whatever `sender` sends to `receiver` is lost. The other way stays open."""
        if (sender, receiver) not in self._lost:
            self._lost.add((sender, receiver))
            self._neighbour("replace", sender, receiver, "lladdr", _NOBODY, "nud", "permanent")

    def heal(self, sender: str, receiver: str) -> None:
        """What `sender` sends to `receiver` arrives again."""
        if (sender, receiver) in self._lost:
            self._lost.remove((sender, receiver))
            self._neighbour("del", sender, receiver)

    def heal_all(self) -> None:
        """Nothing is cut any more."""
        for sender, receiver in list(self._lost):
            self.heal(sender, receiver)

    def _neighbour(self, what: str, sender: str, receiver: str, *rest: str) -> None:
        at, to = self._host(sender), self._host(receiver)
        device = self.bridge if sender == HERE else "eth0"
        where = ("-n", at.namespace) if sender != HERE else ()
        _ip(*where, "neigh", what, to.address, *rest, "dev", device)

    def _host(self, name: str) -> Host:
        return self.here if name == HERE else self.hosts[name]


def why_not() -> str:
    """Why there can be no network here; "" if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        with network("probe"):
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        told = error.stderr if isinstance(error, subprocess.CalledProcessError) else error
        return f"no network namespaces here: {str(told).strip()}"


@contextmanager
def network(*names: str) -> Iterator[Network]:
    """Hosts of these names. They are gone at the end; processes on them are not ended."""
    pid = os.getpid()
    # Two test processes at a time have other addresses; Linux allows 15 characters for a device.
    net = f"{_NET}.{pid % 256}"
    bridge = f"crp{pid}"
    made: list[str] = []
    try:
        _ip("link", "add", bridge, "type", "bridge")
        _ip("address", "add", f"{net}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        built = Network(bridge, Host(HERE, f"{net}.1", ""))
        for number, name in enumerate(names, 2):
            host = Host(name, f"{net}.{number}", f"croupier-{pid}-{name}")
            _ip("netns", "add", host.namespace)
            made.append(host.namespace)
            _connect(host, bridge, f"crp{pid}-{number}")
            built.hosts[name] = host
        yield built
    finally:
        for number, namespace in enumerate(made, 2):
            _gone("link", "del", f"crp{pid}-{number}")
            _gone("netns", "del", namespace)
        _gone("link", "del", bridge)


def _connect(host: Host, bridge: str, device: str) -> None:
    peer = ("peer", "name", "eth0", "netns", host.namespace)
    _ip("link", "add", device, "type", "veth", *peer)
    _ip("link", "set", device, "master", bridge, "up")
    inside = ("-n", host.namespace)
    _ip(*inside, "link", "set", "lo", "up")
    _ip(*inside, "address", "add", f"{host.address}/24", "dev", "eth0")
    _ip(*inside, "link", "set", "eth0", "up")


def _gone(*arguments: str) -> None:
    subprocess.run(("ip", *arguments), check=False, capture_output=True)


def _ip(*arguments: str) -> None:
    subprocess.run(("ip", *arguments), check=True, capture_output=True, text=True)
