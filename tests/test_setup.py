"""Set-up: one lock with hashes and no address, the same requirements for conda, a second set-up that does nothing."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from labkit import doctor
from tools import notebooks, readmes, setup

ROOT = Path(__file__).resolve().parent.parent
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED = [Requirement(text) for text in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]]


def locked() -> dict[str, list[str]]:
    """Return {name: versions} of the lock; a package has several when they depend on the platform."""
    pins: dict[str, list[str]] = {}
    for name, version in re.findall(r"(?m)^([A-Za-z0-9._-]+)==([^ \\]+)", LOCK):
        pins.setdefault(canonicalize_name(name), []).append(version)
    return pins


def test_every_locked_requirement_has_a_hash_and_none_an_address():
    assert not re.search(r"://|--index-url|--find-links|@ file", LOCK)
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", LOCK)[1:]
    assert len(entries) > len(DECLARED)
    assert [entry.split()[0] for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []


def test_every_dependency_has_a_floor_and_the_lock_is_above_it():
    without = [str(need) for need in DECLARED if not any(spec.operator == ">=" for spec in need.specifier)]
    assert without == [], "give each a floor in pyproject.toml: name>=version"
    outside = [
        str(need) for need in DECLARED if not all(map(need.specifier.contains, locked()[canonicalize_name(need.name)]))
    ]
    assert outside == [], "type: make lock"


def test_conda_gets_the_same_names_and_floors():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    *plain, by_pip = conda["dependencies"]
    assert plain[0] == f"python{PROJECT['requires-python']}"
    assert {Requirement(text) for text in by_pip["pip"] if not text.startswith("--")} == set(DECLARED)
    _, path = next(text for text in by_pip["pip"] if text.startswith("--constraint")).split()
    assert (ROOT / path).is_file()


def test_conda_is_held_to_the_locked_versions():
    pins = [
        line for line in (ROOT / "tools/constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")
    ]
    in_lock = [line.rstrip(" \\") for line in LOCK.splitlines() if line[:1].isalnum()]
    assert pins == in_lock


@pytest.fixture
def folder(tmp_path):
    """A project folder with a `.venv` that looks installed."""
    for name in ("requirements.lock", "pyproject.toml", "tools/setup.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    python = Path(setup.venv_python(str(tmp_path)))
    python.parent.mkdir(parents=True)
    python.touch()
    (tmp_path / ".venv/labkit.stamp").write_text(setup.digest(str(tmp_path), sys.version_info))
    return tmp_path


def test_a_second_set_up_installs_nothing(folder):
    done = subprocess.run([sys.executable, "tools/setup.py"], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml", "tools/setup.py"])
def test_a_changed_file_is_installed_again(folder, name):
    with (folder / name).open("a") as file:
        file.write("# changed\n")
    assert not setup.is_current(str(folder), setup.digest(str(folder), sys.version_info))


def test_another_python_or_an_empty_venv_is_installed_again(folder):
    assert not setup.is_current(str(folder), setup.digest(str(folder), (3, 99)))
    Path(setup.venv_python(str(folder))).unlink()
    assert not setup.is_current(str(folder), setup.digest(str(folder), sys.version_info))


@pytest.mark.parametrize("uv", [None, "/usr/bin/uv"])
def test_hashes_are_required_and_the_project_goes_in_by_itself(uv):
    lock, project = setup.install_commands(str(ROOT), uv)
    assert "--require-hashes" in lock and "-e" not in lock
    assert project[-2:] == ["-e", "."] and {"--no-deps", "--no-build-isolation"} <= set(project)


def test_an_old_python_is_named_with_what_to_type():
    message = setup.version_problem((3, 9, 2), "/usr/bin/python3", which=lambda name: name == "python3.12")
    assert "Found 3.9 at /usr/bin/python3" in message and "make lab PYTHON=python3.12" in message
    assert setup.version_problem((3, 11, 0), "/usr/bin/python3") == ""


def test_jupyterlab_listens_on_loopback_only():
    if not shutil.which("make"):
        pytest.skip("there is no make on this machine")
    line = subprocess.run(["make", "--dry-run", "lab"], cwd=ROOT, capture_output=True, text=True).stdout
    assert "--ServerApp.ip=127.0.0.1" in line and "notebooks/00_start.ipynb" in line


def test_the_package_has_a_command_and_is_found():
    assert PROJECT["scripts"] == {"labkit": "labkit.cli:main"}
    assert Path(importlib.util.find_spec("labkit").origin).parent == ROOT / "labkit"


def test_a_notebook_is_the_same_on_every_build_and_holds_no_output():
    source = '# %% [markdown]\n# # Title\n\n# %%\nx = 1\n\n\n# %% nbgrader={"grade_id": "sum it"}\nx\n\n# %%\nx = 1\n'
    built = notebooks.build(source)
    assert built == notebooks.build(source)
    ids = re.findall(r'"id": "(.+?)"', built)
    assert ids[2] == "sum-it" and ids[3] == f"{ids[1]}-2"
    assert "lines_to_next_cell" not in built and built.count('"outputs": []') == 3


def test_a_notebook_without_a_source_is_stale(tmp_path):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/old.ipynb").touch()
    assert notebooks.generate(tmp_path) == {"notebooks/old.ipynb": None}


def test_a_table_of_files_replaces_the_one_before(tmp_path):
    (tmp_path / "labkit").mkdir()
    (tmp_path / "labkit/model.py").write_text('"""Author: what one writes. And more."""\nx = 1\n')
    marks = "<!-- generated:reading-order -->\n{}\n<!-- /generated -->\nend\n"
    (tmp_path / "README.md").write_text(marks.format("the table before"))
    text = readmes.generate(tmp_path)["README.md"]
    assert "| 1 | [`model.py`](labkit/model.py) | 2 | Author: what one writes |" in text
    assert "before" not in text and text.endswith("<!-- /generated -->\nend\n")


def test_the_doctor_looks_at_everything_and_needs_only_what_the_lab_needs():
    found = {check.name: check for check in doctor.checks()}
    assert [name for name, check in found.items() if check.needed and not check.ok] == []
    assert all(check.advice and check.found for check in found.values())
    optional = {name for name, check in found.items() if not check.needed}
    assert optional == {"fork", "sandbox", "Temporal", "Postgres", "Chromium"}


def test_the_doctor_sees_an_old_python_and_a_package_that_is_not_as_locked(tmp_path):
    assert doctor.python_version((3, 10, 4)) == (False, "3.10.4")
    lock = tmp_path / "requirements.lock"
    lock.write_text("pytest==1.0 \\\n    --hash=x\nno-such-package==2.0\nskipped==1 ; python_version < '3'\n")
    ok, text = doctor.locked_packages(lock)
    assert not ok and "no-such-package missing" in text and "pytest" in text and "skipped" not in text
