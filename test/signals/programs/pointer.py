# SPDX-License-Identifier: Apache-2.0
"""As MMEngine keeps it: the absolute path of the newest checkpoint in a file beside it (or, as
others do, an absolute link), and a run goes on from what that names.

    pointer.py file|link"""

import os
import sys
import time

FOLDER = os.path.abspath("checkpoints")
KIND = sys.argv[1]
POINTER = os.path.join(FOLDER, "last_checkpoint" if KIND == "file" else "latest.pth")
epoch = 0
if os.path.lexists(POINTER):
    named = open(POINTER).read() if KIND == "file" else os.readlink(POINTER)
    found = os.path.join(FOLDER, named)  # a link within the folder may come back relative
    if not os.path.exists(found):
        sys.exit(f"LOST {found}")
    epoch = int(open(found).read().split()[0])
    same = os.path.dirname(found) == FOLDER
    print(f"BEGAN {epoch} {'here' if same else 'elsewhere'}", flush=True)
    if os.environ["STOKER_ATTEMPT"] == "3":
        sys.exit(0)
else:
    print("BEGAN 0 here", flush=True)
while epoch < 100:
    epoch += 1
    name = os.path.join(FOLDER, f"epoch_{epoch}.pth")
    with open(name + ".new", "w") as file:
        file.write(f"{epoch} " * 5000)
    os.rename(name + ".new", name)
    if KIND == "file":
        with open(POINTER, "w") as file:
            file.write(name)
    else:
        os.symlink(name, POINTER + ".new")
        os.rename(POINTER + ".new", POINTER)
    if epoch > 2:
        os.remove(os.path.join(FOLDER, f"epoch_{epoch - 2}.pth"))
    print(f"SAVED {epoch}", flush=True)
    time.sleep(4)
