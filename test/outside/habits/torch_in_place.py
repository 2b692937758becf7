# SPDX-License-Identifier: Apache-2.0
"""torch.save over the same file."""

import torch
from witness import Torn, agree, body, check, run


def state(step):
    def tensor(part, size):
        return torch.frombuffer(bytearray(body(part, step, size)), dtype=torch.uint8)

    return {"step": step, "model": tensor("model", 800_000), "optim": tensor("optim", 1_600_000)}


def steps(path):
    """By part, of a file that torch.save wrote."""
    try:
        loaded = torch.load(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever it says, it is not what was saved
        raise Torn("torn", f"{path}: {error}") from None
    parts = {part: check(loaded[part].numpy().tobytes(), part) for part in ("model", "optim")}
    return {"step": loaded["step"], **parts}


def save(folder, step):
    torch.save(state(step), f"{folder}/model.pt")


def load(folder):
    try:
        return agree(steps(f"{folder}/model.pt"))
    except FileNotFoundError:
        return 0


if __name__ == "__main__":
    run(save, load)
