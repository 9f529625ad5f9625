"""Writes environment.yml for conda users, and the versions it holds pip to, from pyproject.toml and the lock.

Conda brings Python and pip; pip brings the rest, at the locked versions. pip wants hashes for all or for none, and
conda's pip step installs the project too, so the constraints are the lock without its hashes.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

CONSTRAINTS = "tools/constraints.txt"
HEAD = f"""\
# Made by `make generate` from pyproject.toml: change it there. For conda users, and for Windows:
#   conda env create --file environment.yml
#   conda activate labkit
name: labkit
channels:
  - conda-forge
dependencies:
  - python{{python}}
  - pip>=24.0
  - pip:
      - --constraint {CONSTRAINTS}
      - --editable .
"""


def requirements(root: Path) -> tuple[str, list[str]]:
    """Return pyproject's `requires-python`, and its requirements with those of the `dev` extra, sorted by name."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return project["requires-python"], sorted(project["dependencies"] + project["optional-dependencies"]["dev"])


def constraints(lock: str) -> str:
    """Return the lock without hashes: one `name==version`, with its marker if it has one, a line."""
    pins = re.findall(r"(?m)^([A-Za-z0-9._-]+==[^\\\n]+?) *\\?$", lock)
    return "# Made by `make generate` from requirements.lock.\n" + "".join(f"{pin}\n" for pin in pins)


def generate(root: Path) -> dict[str, str | None]:
    """Return environment.yml and its constraints."""
    python, names = requirements(root)
    return {
        "environment.yml": HEAD.format(python=python) + "".join(f"      - {name}\n" for name in names),
        CONSTRAINTS: constraints((root / "requirements.lock").read_text("utf-8")),
    }
