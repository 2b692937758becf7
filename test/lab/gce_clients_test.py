#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lab's Compute Engine as google-cloud-compute sees it, which reads every answer by Google's
own types: what it asks for is done, once, and what Google refuses is refused by the same words. And
the metadata server of its machines as google-auth sees it.

    gce_clients_test.py [PART…]      only these parts
    gce_clients_test.py --broken     break the lab in many ways: each must be noticed"""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.lab import gce_parts_answers as answers
from test.lab import gce_parts_machines as machines
from test.lab import gce_parts_metadata as of_metadata
from test.lab.gce_checks import Google, State, expect
from test.lab.unbooted_gce import UnbootedGce

PARTS = {
    each.__name__: each
    for each in (
        machines.launch,
        machines.once,
        machines.room,
        machines.power,
        machines.ends,
        machines.limits,
        machines.bulk,
        machines.regional,
        answers.seen,
        answers.changes,
        answers.refusals,
        answers.rights,
        answers.catalogue,
        of_metadata.metadata,
        of_metadata.changes_seen,
        of_metadata.tokens_of_machines,
    )
}


def run(name):
    """One part in a lab of its own."""
    with UnbootedGce() as lab:
        try:
            PARTS[name](lab, Google(lab))
        except Exception as error:  # noqa: BLE001  # it is counted as one
            expect(f"{name} goes to its end", f"{type(error).__name__}: {error}", "")
        strange = lab.front.strange()
        expect(f"{name}: every request is in the document", strange, [])
        expect(f"{name}: no bug of the lab", lab.bugs, [])
        return lab.front.replies


def main(names):
    replies = sum(run(name) for name in names or PARTS)
    print(f"gce_clients: {replies} answers valid by the discovery document, {len(State.failed)} failed")
    return bool(State.failed)


if __name__ == "__main__":
    if sys.argv[1:] == ["--broken"]:
        from test.lab import gce_broken

        sys.exit(gce_broken.main(run))
    sys.exit(main(sys.argv[1:]))
