"""The project keeps its house rules, and each rule notices when it is broken."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import generate, layers, tidy

ROOT = Path(__file__).resolve().parent.parent
DOC = '"""Words."""\n'
METHODS = "".join(f'    def {name}(self):\n        """Words."""\n' for name in tidy.ENGINE_METHODS)
SWAPPED = METHODS.replace("load", "x").replace("begin", "load").replace("x", "begin")
HIDDEN = "pick" + "le"

# (rule, a small tree that breaks it, what the rule must say about it)
BROKEN: list[tuple[str, dict[str, str], str]] = [
    ("downward", {"labkit/odd.py": DOC}, "odd stands in no layer"),
    ("downward", {"labkit/store/a.py": "from labkit.runner import run", "labkit/runner.py": DOC}, "higher layer"),
    ("downward", {"labkit/store/a.py": "def f():\n    from .. import runner", "labkit/runner.py": DOC}, "higher layer"),
    ("downward", {"labkit/store/a.py": "from labkit import Lab"}, "higher layer"),
    ("downward", {"labkit/clock.py": "import labkit.taps", "labkit/taps.py": "from . import clock"}, "in a circle"),
    (
        "engines_apart",
        {"labkit/engines/b.py": "from labkit.engines.a import X", "labkit/engines/a.py": DOC},
        "an engine may not import",
    ),
    ("engines_apart", {"labkit/engines/hybrid.py": "from labkit import effects"}, "an engine may not import"),
    ("stacks_apart", {"labkit/stacks/dbos.py": "from labkit.runner import run"}, "not labkit.runner"),
    ("stacks_apart", {"labkit/stacks/dbos.py": "from labkit.stacks import temporal"}, "not labkit.stacks.temporal"),
    ("sizes", {"tests/test_a.py": "x = 1\n" * 251}, "251 lines, at most 250"),
    ("sizes", {"labkit/widgets/timeline.js": "let x\n" * 251}, "251 lines, at most 250"),
    ("sizes", {"labkit/engines/hybrid.py": "x = 1\n" * 151}, "151 lines, at most 150"),
    ("sizes", {"labkit/stacks/dbos.py": "x = 1\n" * 201}, "201 lines, at most 200"),
    ("sizes", {"labkit/a.py": "async def f():\n" + "    x = 1\n" * 40}, "f has 41 lines, at most 40"),
    ("engine_members", {"labkit/engines/snapshot.py": f"class A:\n{SWAPPED}"}, "its public methods are load, begin"),
    ("engine_members", {"labkit/engines/snapshot.py": DOC}, "its public methods are missing"),
    (
        "engine_members",
        {
            "labkit/engines/snapshot.py": f"class A:\n{METHODS}",
            "labkit/engines/hybrid.py": f"class B:\n{METHODS}    k: int = 2\n",
        },
        "the public members differ",
    ),
    ("documented", {"labkit/a.py": "x = 1"}, "the module has no docstring"),
    ("documented", {"labkit/a.py": f"{DOC}def f(): ..."}, "f has no docstring"),
    ("documented", {"labkit/a.py": f"{DOC}class A:\n    {DOC}    async def f(self): ..."}, "A.f has no docstring"),
    ("reasons", {"tests/test_a.py": "pytest.skip()"}, "pytest.skip without a reason"),
    ("reasons", {"tests/test_a.py": "pytest.skip(reason='')"}, "pytest.skip without a reason"),
    ("reasons", {"tests/test_a.py": "@pytest.mark.skip\ndef test_a(): ..."}, "pytest.mark.skip without a reason"),
    ("reasons", {"tests/test_a.py": "pytestmark = pytest.mark.skipif(True)"}, "pytest.mark.skipif without a reason"),
    ("reasons", {"tests/test_a.py": "pytest.importorskip('dbos')"}, "pytest.importorskip without a reason"),
    ("words", {"a.md": "see /wo" + "rk/main/a.py"}, "a path of one machine"),
    ("words", {"a.lock": "--index-url https://py" + "pi.org/simple"}, "the host of a registry"),
    ("words", {"uv" + ".lock": ""}, "a lock that names hosts"),
    ("data_stays_data", {"labkit/a.py": f"from {HIDDEN} import loads"}, f"{HIDDEN} turns data into code"),
    ("data_stays_data", {"labkit/a.py": "x = eval('1')"}, "eval turns data into code"),
]


@pytest.mark.parametrize("rule", tidy.RULES, ids=lambda rule: rule.__name__)
def test_the_project_keeps_the_rule(rule):
    problems = rule(ROOT)
    assert not problems, f"{rule.__doc__}\n" + "\n".join(problems)


@pytest.mark.parametrize(("name", "files", "expected"), BROKEN)
def test_a_broken_rule_is_noticed(name, files, expected, tmp_path):
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    rule = next(rule for rule in tidy.RULES if rule.__name__ == name)
    assert expected in "\n".join(rule(tmp_path))


def test_every_rule_is_seen_to_fail():
    assert {name for name, _, _ in BROKEN} == {rule.__name__ for rule in tidy.RULES}


def test_every_part_of_the_design_has_one_layer():
    parts = [part for row in layers.LAYERS for part in row]
    assert len(parts) == len(set(parts))


def test_no_generated_file_is_stale():
    stale = generate.stale(ROOT, list(generate.GENERATORS))
    assert not stale, f"stale: {', '.join(stale)}. Type: make generate"


def test_the_code_in_the_readme_runs(tmp_path):
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("README.md is not written yet")
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```", readme.read_text("utf-8"))
    assert blocks, "README.md shows no Python code"
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks), "utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"The code in README.md, in {script}, ended with {done.returncode}:\n{done.stderr}"
