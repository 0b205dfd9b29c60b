# SPDX-License-Identifier: Apache-2.0
"""How checks are run side by side: their sum, and what Ctrl-C leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"

ROWS = """
import sys
sys.path.insert(0, {tools!r})
from run_groups import Count, Group, run_all

def group(name, code):
    return Group(name, [sys.executable, "-c", code], count)

count = None
{body}
"""


def start(body: str) -> subprocess.Popen[str]:
    program = ROWS.format(tools=str(TOOLS), body=body)
    return subprocess.Popen(
        [sys.executable, "-c", program], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=60)
    return process.returncode, output


def test_a_group_that_hangs_is_killed_with_what_it_started():
    child = "import time; time.sleep(60)"
    hangs = f"import subprocess, sys; print(1, flush=True); subprocess.run([sys.executable, '-c', {child!r}])"
    code, output = finish(
        start(f"import run_groups; print(run_groups.run(group('a', {hangs!r}), alone=False, silence_s=2))")
    )
    assert code == 0
    assert "a | killed: it said nothing" in output
    assert output.splitlines()[-1] == "Count(passed=0, failed=1)"


def test_a_group_that_says_parts_of_a_line_lives():
    says = "import time\nfor _ in range(8): print('.', end='', flush=True); time.sleep(0.5)"
    code, output = finish(
        start(f"import run_groups; print(run_groups.run(group('a', {says!r}), alone=False, silence_s=2))")
    )
    assert (code, output.splitlines()[-1]) == (0, "Count(passed=1, failed=0)")
    assert "a | ........" in output


def test_all_groups_run_and_are_summed_up_although_one_fails():
    code, output = finish(
        start(
            "sys.exit(run_all([group('a', 'raise SystemExit(3)'), group('b', 'print(1)')], [group('c', '')]))"
        )
    )
    assert code == 1
    assert output.splitlines()[-1] == "2 passed, 1 failed"


def test_a_group_has_its_own_environment():
    shows = "import os; print(os.environ['GODWIT_OF_GROUP'], flush=True)"
    code, output = finish(
        start(
            f"run_all([Group('a', [sys.executable, '-c', {shows!r}], environment={{'GODWIT_OF_GROUP': 'x y'}})])"
        )
    )
    assert (code, output.splitlines()[2]) == (0, "x y")


def test_checks_are_counted_where_a_group_says_how():
    code, output = finish(
        start("count = lambda output: Count(int(output), 0)\nsys.exit(run_all([group('a', 'print(40)')]))")
    )
    assert (code, output.splitlines()[-1]) == (0, "40 passed, 0 failed")


def test_the_sum_names_what_failed(tmp_path: Path):
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite tests="5" failures="1" errors="3" skipped="0">'
        '<testcase classname="a.b" name="c[1]"><failure message="assert 1 == 2&#10;where">x</failure></testcase>'
        '<testcase classname="a.b" name="d"><error message="the guest ended&#10;[ 1.0] BUG: kernel NULL pointer&#10;more"/></testcase>'
        + "".join(
            f'<testcase classname="a.b" name="{name}"><error message="it ended; its last lines:&#10;one&#10;two"/></testcase>'
            for name in "fg"
        )
        + '<testcase classname="a.b" name="e"/></testsuite></testsuites>'
    )
    says = "print('test heap::it ... ok'); print('test heap::other - should panic ... FAILED'); print('test result: FAILED. 1 passed; 1 failed')"
    code, output = finish(
        start(
            "from run_groups import count_cargo, count_junit\nfrom pathlib import Path\n"
            f"sys.exit(run_all([Group('a', ['true'], count_junit(Path({str(report)!r})))], [Group('b', [sys.executable, '-c', {says!r}], count_cargo)]))"
        )
    )
    assert code == 1
    assert output.splitlines()[-11:] == [
        "  a                                1 passed    4 failed",
        "    failed: a.b::c[1]: assert 1 == 2",
        "    failed: a.b::d: the guest ended",
        "      [ 1.0] BUG: kernel NULL pointer",
        "    failed: a.b::f: it ended; its last lines:",
        "      one",
        "      two",
        "    failed: a.b::g: it ended; its last lines:",
        "  b                                1 passed    1 failed",
        "    failed: heap::other",
        "2 passed, 5 failed",
    ]


def test_ctrl_c_ends_what_runs_and_begins_nothing_more(tmp_path: Path):
    begun, next_one = tmp_path / "begun", tmp_path / "next"
    wait = f"import time; open({str(begun)!r}, 'w').close(); time.sleep(60)"
    touch = f"open({str(next_one)!r}, 'w').close()"
    process = start(f"sys.exit(run_all([group('a', {wait!r}), group('b', {touch!r})], [group('c', '')]))")
    for _ in range(600):
        if begun.exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, output = finish(process)
    assert code == 130
    assert output.splitlines()[-1] == "cancelled"
    assert not next_one.exists()
