# SPDX-License-Identifier: Apache-2.0
"""Port 22 of a room, as its cloud's rules let others come there. The image's sshd listens on the
room's own loopback; who is let in is brought there, and who is not is cut (EC2 itself drops what
they send: they wait)."""

import select
import socket
import socketserver
import threading

from test.lab.web import LINGER_OFF


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        room = self.server.room
        if not room.cloud.lets_in(room.instance, self.client_address[0]):
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_OFF)
            return
        with self.server.way() as there:
            self.carry({self.request: there, there: self.request})

    def carry(self, ways):
        while ways:
            for one in select.select(list(ways), [], [])[0]:
                some = one.recv(65536)
                if some:
                    ways[one].sendall(some)
                else:
                    ways.pop(one).shutdown(socket.SHUT_WR)


class Port22(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """`bound` is its socket inside, `make()` makes others. `leads_to`: at another port there may be
    an impostor, as if somebody had this machine's address."""

    daemon_threads = True

    def __init__(self, room, bound, make):
        super().__init__(bound.getsockname(), Handler, bind_and_activate=False)
        self.socket.close()
        self.room, self.socket, self.make = room, bound, make
        self.leads_to = 22
        self.server_activate()
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def way(self):
        made = self.make()
        made.connect(("127.0.0.1", self.leads_to))
        return made

    def handle_error(self, *_):
        """Nobody listens there, or a side went away."""

    def end(self):
        self.shutdown()
        self.server_close()
