#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what it was given, as JSON, to $EVIDENCE/<rank>.json; tries the port that it was given."""

import json
import os
import pathlib
import socket
import sys
import time

rank = os.environ["STOKER_NODE_RANK"]
port = ""
with socket.socket() as listener:
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    try:
        if rank == "0":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
            listener.settimeout(20)
            listener.accept()[0].close()
        else:
            for left in reversed(range(200)):
                try:
                    listener.connect(address)
                    break
                except ConnectionRefusedError:
                    if left == 0:
                        raise
                    time.sleep(0.1)
    except OSError as error:
        port = str(error)
facts = {"env": dict(os.environ), "argv": sys.argv[1:], "cwd": os.getcwd(), "port": port, "files": sorted(os.listdir("."))}
(pathlib.Path(os.environ["EVIDENCE"]) / f"{rank}.json").write_text(json.dumps(facts))
