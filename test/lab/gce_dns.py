# SPDX-License-Identifier: Apache-2.0
"""Names of machines as a VM of Compute Engine resolves them: a server of DNS at 169.254.169.254, in
UDP, for addresses of version 4 (RFC 1035). Any other name is refused at once."""

import socketserver
import struct
import threading

ADDRESS = 1  # type A
HEAD = struct.Struct(">HHHHHH")
REFUSED, NO_NAME = 5, 3


def question(packet):
    """(name in lower case, type, where it ends). Raises IndexError or struct.error."""
    words, at = [], HEAD.size
    while packet[at]:
        words.append(packet[at + 1 : at + 1 + packet[at]].decode("ascii", "replace"))
        at += 1 + packet[at]
    kind, _ = struct.unpack_from(">HH", packet, at + 1)
    return ".".join(words).lower(), kind, at + 5


def answer(packet, find):
    """`find(name)`: an address, '' where the name is of this network and nobody has it, or None."""
    name, kind, end = question(packet)
    found = find(name)
    code = REFUSED if found is None else NO_NAME if not found else 0
    count = 1 if found and kind == ADDRESS else 0
    (number,) = struct.unpack_from(">H", packet)
    told = HEAD.pack(number, 0x8580 | code, 1, count, 0, 0) + packet[HEAD.size : end]
    if count:
        part = bytes(int(each) for each in found.split("."))
        told += struct.pack(">HHHIH", 0xC00C, ADDRESS, 1, 30, 4) + part
    return told


class Dns(socketserver.ThreadingUDPServer):
    daemon_threads = True

    def __init__(self, bound, find):
        super().__init__(bound.getsockname(), Ask, bind_and_activate=False)
        self.socket.close()
        self.socket = bound
        self.find = find
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def handle_error(self, *_):
        """What is no question gets no answer."""

    def end(self):
        self.shutdown()
        self.server_close()


class Ask(socketserver.BaseRequestHandler):
    def handle(self):
        packet, there = self.request
        there.sendto(answer(packet, self.server.find), self.client_address)


def finder(api, instance):
    """Of one machine: the names of its network's machines, short ones in its own zone."""
    domains = [f".{instance.zone}.c.{instance.project}.internal", f".c.{instance.project}.internal"]

    def find(name):
        if name in ("metadata", "metadata.google.internal"):
            return "169.254.169.254"
        if not name.endswith(".internal"):
            return None
        with api.world.lock:
            for each in api.world.instances:
                full = f"{each.name}.{each.zone}.c.{each.project}.internal"
                if not each.gone and name in (full, each.name + domains[1]):
                    return each.address
        return ""

    return find
