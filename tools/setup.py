"""Makes `.venv` from `requirements.lock`, or does nothing when it is up to date.

Run by every `make` command, with any Python: `python tools/setup.py`. It uses the standard library only, and syntax
that an old Python can still read, so that the message about the version is what its user sees. Every package is
checked against the hash in the lock; the project itself goes in afterwards, in a second call, because pip takes
either hashes or an editable folder. A stamp in `.venv` holds the digest of what was installed.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time

NEEDED = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def version_problem(version, executable, which=shutil.which):
    """Return what is wrong with this Python and what to type instead, or "" when it will do.

    `version` is (major, minor, ...), `executable` its path, `which` finds a program by name.
    """
    if tuple(version[:2]) >= NEEDED:
        return ""
    names = [f"python3.{minor}" for minor in range(NEEDED[1], NEEDED[1] + 6)]
    others = [name for name in names if which(name)]
    return (
        f"The lab needs Python {NEEDED[0]}.{NEEDED[1]} or newer. Found {version[0]}.{version[1]} at {executable}. "
        f"Nothing was changed. Type: make lab PYTHON={others[-1] if others else '/path/to/python3.11'}"
    )


def digest(root, version):
    """Return the digest, in hex, of all that decides what `.venv` holds: lock, pyproject, this script, Python."""
    total = hashlib.sha256(repr(tuple(version[:2])).encode())
    for name in ("requirements.lock", "pyproject.toml", os.path.join("tools", "setup.py")):
        with open(os.path.join(root, name), "rb") as file:
            total.update(hashlib.sha256(file.read()).digest())
    return total.hexdigest()


def is_current(root, wanted):
    """Return whether `root/.venv` was installed from what `wanted` is the digest of, and its Python is there."""
    try:
        with open(os.path.join(root, ".venv", "labkit.stamp")) as file:
            return file.read() == wanted and os.path.exists(venv_python(root))
    except OSError:
        return False


def venv_python(root):
    """Return the path of the Python inside `root/.venv`, on this platform."""
    return os.path.join(root, ".venv", *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def is_usable(root, uv):
    """Return whether `root/.venv` runs this version of Python, with pip inside it unless uv does the installing."""
    probe = f"import sys; assert sys.version_info[:2] == {tuple(sys.version_info[:2])}{'' if uv else '; import pip'}"
    try:
        return subprocess.run([venv_python(root), "-c", probe], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def install_commands(root, uv):
    """Return the two calls that fill `.venv`, as lists of arguments. `uv` is the path of uv, or None to use pip."""
    python = venv_python(root)
    if uv:
        install = [uv, "pip", "install", "--quiet", "--python", python]
    else:
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [
        [*install, "--require-hashes", "-r", "requirements.lock"],
        [*install, "--no-deps", "--no-build-isolation", "-e", "."],
    ]


def make_venv(root, uv):
    """Make an empty `root/.venv` in place of whatever is there."""
    if os.path.normcase(sys.prefix) == os.path.normcase(os.path.join(root, ".venv")):
        sys.exit("Set-up cannot rebuild .venv with the Python inside it. Type: deactivate, then the same again.")
    shutil.rmtree(os.path.join(root, ".venv"), ignore_errors=True)
    if uv:
        run([uv, "venv", "--quiet", "--python", sys.executable, ".venv"])
    else:
        debian = "On Debian and Ubuntu the module is a package of its own. Type: sudo apt install python3-venv"
        run([sys.executable, "-m", "venv", ".venv"], debian)


def quiet_jupyter(root):
    """Answer JupyterLab's question about news beforehand: it would ask at the first start, and then call home."""
    folder = os.path.join(root, ".venv", "share", "jupyter", "lab", "settings")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "overrides.json"), "w") as file:
        json.dump({"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}, file)


def run(command, advice="The lines above say why. Mend it and type the same command again: it starts over."):
    """Run one command in the project folder, or leave with its error and what to do about it."""
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"Set-up stopped: {' '.join(command)} ended with {done.returncode}. {advice}")


def main():
    """Make `.venv` when it is missing or was made from something else; say what is done and how long it took."""
    problem = version_problem(sys.version_info, sys.executable)
    if problem:
        sys.exit(problem)
    wanted = digest(ROOT, sys.version_info)
    if is_current(ROOT, wanted):
        return
    uv = shutil.which("uv")
    began = time.monotonic()
    how = "uv, once: about 10 seconds" if uv else "pip, once: about a minute"
    print(f"Setting up .venv with Python {sys.version_info[0]}.{sys.version_info[1]} and {how}.", flush=True)
    if not is_usable(ROOT, uv):
        make_venv(ROOT, uv)
    for command in install_commands(ROOT, uv):
        run(command)
    quiet_jupyter(ROOT)
    with open(os.path.join(ROOT, ".venv", "labkit.stamp"), "w") as file:
        file.write(wanted)
    print(f"Set up in {time.monotonic() - began:.0f} seconds.", flush=True)


if __name__ == "__main__":
    main()
