# SPDX-License-Identifier: Apache-2.0
"""What public projects have at their root, by real packages: works, is refused with why, or is wrong; none is. The files are theirs in
shape, and none is whole: what they name of hundreds of megabytes (torch and what needs it, opencv) is left out, but where a file is
refused, and of latent-diffusion's most of what pip would install. The rest is installed from the index of this machine's pip. Locks are
made by uv, poetry and pdm."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[3])

from test import cloud_env
from test.e2e.kit.harness import PYTHON, Results, World

INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/"
HAS = """
import importlib.metadata, sys
for name in sys.argv[1:]:
    print('HAS', name + '==' + importlib.metadata.version(name) + ' ')
"""


def lines(words):
    return "\n".join(words.split()) + "\n"


def project(needs, python=">=3.8", more=""):
    return f'[project]\nname = "p"\nversion = "1"\nrequires-python = "{python}"\ndependencies = {json.dumps(needs)}\n{more}'


YOLO = """# requirements
# Usage: pip install -r requirements.txt

# Base ----------------------------------------
gitpython>=3.1.30
matplotlib>=3.3
numpy>=1.23.5
pillow>=10.3.0
psutil  # system resources
PyYAML>=5.3.1
requests>=2.32.2
scipy>=1.4.1
tqdm>=4.66.3
# protobuf<=3.20.1

pandas>=1.1.4
seaborn>=0.11.0
packaging  # in the place of another
setuptools>=70.0.0 # a fix
urllib3>=2.5.0 ; python_version > "3.8" # not directly required
"""
NANOCHAT = project(
    [
        *("fastapi>=0.117.1", "filelock>=3.0.0", "psutil>=7.1.0", "python-dotenv>=1.2.1", "regex>=2025.9.1", "rustbpe>=0.1.0"),
        *("setuptools>=80.9.0", "tabulate>=0.9.0", "tiktoken>=0.11.0", "tokenizers>=0.22.0", "uvicorn>=0.36.0", "zstandard>=0.25.0"),
    ],
    ">=3.10",
    # As torch has it there.
    '[dependency-groups]\ndev = ["pytest>=8.0.0"]\n[project.optional-dependencies]\ncpu = ["tabulate==0.9.0"]\ngpu = ["tabulate==0.9.0"]\n'
    '[tool.uv]\nconflicts = [[{ extra = "cpu" }, { extra = "gpu" }]]\n'
    '[tool.uv.sources]\ntabulate = [{ index = "of-cpu", extra = "cpu" }, { index = "of-gpu", extra = "gpu" }]\n'
    f'[[tool.uv.index]]\nname = "of-cpu"\nurl = "{INDEX}"\nexplicit = true\n'
    f'[[tool.uv.index]]\nname = "of-gpu"\nurl = "{INDEX}"\nexplicit = true\n',
)
LEROBOT = project(
    [
        *("huggingface-hub[hf-transfer,cli]>=0.34.2", "einops>=0.8.0", "jsonlines>=4.0.0", "packaging>=24.2", "pyserial>=3.5"),
        *("draccus==0.10.0", "gymnasium>=0.29.1,<=1.1.0", "deepdiff>=7.0.1,<9.0.0", "imageio[ffmpeg]>=2.34.0,<3.0.0"),
        *("termcolor>=2.4.0,<4.0.0", "no-such-codec>=0.2.1,<0.6.0; sys_platform != 'linux' and platform_machine != 'x86_64'"),
    ],
    ">=3.10",
    '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
    '[project.optional-dependencies]\npi = ["no-such @ git+https://127.0.0.1/no-such.git@fix"]\nall = ["p[pi]"]\n',
)
CLEANRL = project(
    [
        *("tensorboard>=2.10.0", "wandb>=0.13.11", "gym==0.23.1", "gymnasium==0.29.1", "torch==2.4.1", "moviepy>=1.0.3", "pygame>=2.1"),
        *("huggingface-hub>=0.11.1", "rich<12.0", "tenacity>=8.2.2", "tyro>=0.5.10"),
    ],
    ">=3.8,<3.11",
)
LATENT = """name: ldm
channels:
  - pytorch
  - defaults
dependencies:
  - python=3.8.5
  - pip=20.3
  - cudatoolkit=11.0
  - pytorch=1.7.0
  - torchvision=0.8.1
  - numpy=1.19.2
  - pip:
    - albumentations==0.4.3
    - pytorch-lightning==1.4.2
    - -e git+https://github.com/CompVis/taming-transformers.git@master#egg=taming-transformers
    - -e .
"""
POETRY = f"""[tool.poetry]
name = "poetry"
version = "0.12.0-alpha.0"
description = "Python dependency management"
authors = ["A <a@example.org>"]
package-mode = false
[tool.poetry.dependencies]
python = "^3.8"
requests = "^2.18"
shellingham = "^1.1"
tomlkit = "^0.12"
html5lib = "^1.0"
cachecontrol = {{ version = ">=0.12.4", extras = ["filecache"] }}
pathlib2 = {{ version = "^2.3", python = "~3.4" }}
[tool.poetry.group.dev.dependencies]
pytest-mock = "*"
[[tool.poetry.source]]
name = "index"
url = "{INDEX}"
priority = "primary"
"""
PDM = project(
    [
        *("blinker", "click>=7", 'importlib-metadata; python_version < "3.8"', "installer~=0.7.0", "packaging", "platformdirs"),
        *("python-dotenv>=0.15", "shellingham>=1.3.2", "tomlkit>=0.8.0,<1"),
    ],
    more='[project.scripts]\npdm = "pdm.core:main"\n[tool.pdm.dev-dependencies]\ntest = ["pytest-mock"]\n',
)
# Which packages are looked for, or words of the refusal.
PROJECTS = {
    "openai/whisper": (
        {"requirements.txt": lines("numba numpy tqdm more-itertools tiktoken scipy pytest"), "pyproject.toml": project(["no-such"])},
        "numba numpy tqdm more-itertools tiktoken scipy pytest",
        "",
    ),
    "NVIDIA/apex": (
        {
            "requirements.txt": lines("cxxfilt>=0.2.0 tqdm>=4.28.1 numpy>=1.22.2 PyYAML>=5.1 pytest>=3.5.1 packaging>=14.0"),
            "setup.py": "raise SystemExit('it is not to be run')\n",
            "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\n',
        },
        "cxxfilt tqdm numpy PyYAML pytest packaging",
        "",
    ),
    "ultralytics/yolov5": ({"requirements.txt": YOLO}, "gitpython matplotlib pillow psutil scipy pandas seaborn urllib3", ""),
    "tloen/alpaca-lora": (
        {"requirements.txt": lines("appdirs loralib black black[jupyter] fire git+https://example.org/peft.git sentencepiece")},
        "appdirs loralib black ipython fire peft==0.0.1 sentencepiece",
        "",
    ),
    "karpathy/nanochat": (
        {"pyproject.toml": NANOCHAT, "uv.lock": ["uv", "lock", "-q", "--python", PYTHON]},
        "fastapi psutil regex rustbpe tabulate tiktoken tokenizers uvicorn zstandard",
        "",
    ),
    "huggingface/lerobot": (
        {"pyproject.toml": LEROBOT, "requirements-ubuntu.txt": "no-such\n"},
        "huggingface-hub einops jsonlines pyserial draccus==0.10.0 gymnasium deepdiff imageio imageio-ffmpeg termcolor",
        "",
    ),
    "python-poetry/poetry": (
        {"pyproject.toml": POETRY, "poetry.lock": ["poetry", "lock", "-q"]},
        "requests shellingham tomlkit html5lib cachecontrol filelock",
        "",
    ),
    "pdm-project/pdm": (
        {"pyproject.toml": PDM, "pdm.lock": ["pdm", "lock", "-q"]},
        "blinker click installer packaging platformdirs python-dotenv shellingham tomlkit",
        "",
    ),
    "openai/CLIP": ({"requirements.txt": lines("ftfy regex tqdm torch~=1.7.1 torchvision~=0.8.2 gradio"), "setup.py": ""}, "", "torch"),
    "vwxyzjn/cleanrl": ({"pyproject.toml": CLEANRL}, "", "pyproject.toml requires Python >=3.8,<3.11, and python3 here is "),
    "CompVis/latent-diffusion": ({"environment.yaml": LATENT, "setup.py": ""}, "no-such", "echo '# environment.yaml' > requirements.txt"),
}


def tools(world):
    """In a folder of their own: beside each lies the python3 of an environment."""
    folder = world.root / "tools"
    folder.mkdir()
    for name in ("uv", "poetry", "pdm"):
        made = cloud_env.folder(os.path.join(cloud_env.HERE, f"requirements-{name}.txt"))
        (folder / name).symlink_to(os.path.join(made, "bin", name))
    return f"{folder}:/usr/bin:/bin"


def repository(world):
    """A branch in the place of the one that alpaca-lora names."""
    folder = world.root / "peft"
    (folder / "peft").mkdir(parents=True)
    (folder / "peft" / "__init__.py").write_text("")
    back_end = '[build-system]\nrequires = ["setuptools>=61"]\nbuild-backend = "setuptools.build_meta"\n'
    (folder / "pyproject.toml").write_text(back_end + '[project]\nname = "peft"\nversion = "0.0.1"\n')
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", folder]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{folder}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://example.org/peft.git",
    }


def write(world, env, files):
    shutil.rmtree(world.work)
    world.work.mkdir()
    for name, text in files.items():
        if isinstance(text, list):
            subprocess.run(text, check=True, cwd=world.work, env={**os.environ, **world.env, **env, "UV_PYTHON_DOWNLOADS": "never"})
        else:
            (world.work / name).write_text(text)


def judge(done, text, needs, why):
    if why:
        return "refused why" if done.returncode != 0 and why in text else "wrong"
    good = done.returncode == 0 and all(f"HAS {n}{' ' if '==' in n else '=='}" in text for n in needs)
    return "works" if good and "no hash of" not in text else "wrong"


def tampered(results, world, env, words, name):
    """The same lock with other digests: nothing that it names is installed."""
    for lock in (world.work / "poetry.lock", world.work / "pdm.lock"):
        if lock.exists():
            lock.write_text(re.sub("sha256:.", lambda found: "sha256:" + ("1" if found[0][-1] == "0" else "0"), lock.read_text()))
            done = world.stoker("run", *words, "--", "python3", "-c", "print('RAN')", env=env, timeout=300)
            text = done.stdout + done.stderr
            results.check(f"{name}: other digests are refused", done.returncode != 0 and "Hash mismatch" in text, text)


def main():
    results = Results()
    told = {"works": 0, "refused why": 0, "wrong": 0}
    with World("public") as world:
        git = repository(world)
        env = {"PATH": tools(world), **git}
        words = [word for name, value in git.items() for word in ("--env", f"{name}={value}")]
        for name, (files, needs, why) in PROJECTS.items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            write(world, env, files)
            asked = [need.partition("==")[0] for need in needs.split()]
            done = world.stoker("run", *words, "--", "python3", "-c", HAS, *asked, env=env, timeout=300)
            text = done.stdout + done.stderr
            judged = judge(done, text, needs.split(), why)
            told[judged] += 1
            results.check(f"{name}: {judged}", judged != "wrong", text)
            tampered(results, world, env, words, name)
    print("      " + ", ".join(f"{word}: {count}" for word, count in told.items()))
    results.finish()


main()
