# SPDX-License-Identifier: Apache-2.0
"""The command as a shell sees it: exit codes, standard output and standard error, bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

import godwit as package
from godwit import doctor


def assert_one_clear_error(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    """The message: one `error:` with what to do, and nothing else anywhere."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("error: ") == 1
    assert "\ntry: " in done.stderr or "\nfound: " in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 3
    return done.stderr


def test_version_is_the_packages(godwit):
    for flag in ("--version", "-V"):
        done = godwit(flag)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"godwit {package.__version__}\n", "")


def test_version_loads_neither_typer_nor_arrow_nor_the_native_module():
    code = (
        "import sys; sys.argv = ['godwit', '--version']; from godwit.cli import main; main();"
        "print([name for name in ('typer', 'rich', 'numpy', 'pyarrow', 'godwit._native')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "[]"


@pytest.mark.parametrize(
    "path",
    [
        [],
        ["run"],
        ["run", "split"],
        ["run", "array-sum"],
        ["run", "memcopy"],
        ["bench"],
        ["card"],
        ["card", "build"],
        ["card", "list"],
        ["card", "info"],
        ["card", "prune"],
        ["cmt"],
        ["cmt", "bench"],
        ["cmt", "dump"],
        ["cmt", "simulate"],
        ["data"],
        ["data", "flights"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_help_of_every_command_says_what_it_does(call, path):
    done = call(*path, "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert f"Usage: godwit {' '.join(path)}".strip() in done.stdout
    assert len(done.stdout.split("Options")[0].split()) > 6
    assert all(len(line) <= 100 for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    "path",
    [
        ["run", "split"],
        ["run", "array-sum"],
        ["run", "memcopy"],
        ["bench"],
        ["card", "build"],
        ["card", "list"],
        ["card", "info"],
        ["card", "prune"],
        ["cmt", "bench"],
        ["cmt", "dump"],
        ["cmt", "simulate"],
        ["data", "flights"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_every_command_has_json(call, path):
    assert "--json" in call(*path, "--help").stdout


@pytest.mark.parametrize(
    "path",
    [
        ["run", "split"],
        ["run", "array-sum"],
        ["run", "memcopy"],
        ["bench"],
        ["card", "build"],
        ["cmt", "dump"],
        ["cmt", "simulate"],
        ["data", "flights"],
    ],
    ids=" ".join,
)
def test_help_has_an_example(call, path):
    assert (
        f"godwit {' '.join(path)} "
        in call(*path, "--help", COLUMNS="200").stdout.replace("\n", " ").split("Example")[1]
    )


@pytest.mark.parametrize(
    "args",
    [
        ["run"],
        ["nonsense"],
        ["run", "splt"],
        ["run", "split"],
        ["run", "split", "--colum", "x"],
        ["run", "memcopy", "--iterations", "0"],
        ["run", "memcopy", "--iterations", "many"],
        ["run", "array-sum", "--column", "x"],
        ["card", "build", "a", "b"],
    ],
    ids=" ".join,
)
def test_wrong_use_ends_with_2_and_points_to_the_help(call, args):
    done = call(*args)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    if args == ["run"]:
        assert "split" in done.stdout + done.stderr
    else:
        assert done.stdout == ""
        assert done.stderr.startswith("error: ")
        assert "--help" in done.stderr.splitlines()[-1]


def test_a_mistyped_command_gets_the_nearest(call):
    assert "split" in call("run", "splt").stderr


SPLIT = ("run", "split", "--column", "double", "--where", "> 15", "--output-dir", "out", "--json")


def test_a_missing_input_is_one_clear_error(godwit, table, tmp_path):
    message = assert_one_clear_error(godwit(*SPLIT, "--input", "tabel.parquet"))
    assert "table.parquet" in message
    assert not (tmp_path / "out").exists()


def test_a_corrupt_input_is_one_clear_error(godwit, table, tmp_path):
    table.write_bytes(table.read_bytes()[:-20])
    assert "cannot be read as Parquet" in assert_one_clear_error(godwit(*SPLIT, "--input", table))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("column", "found"), [("duble", "double (float64)"), ("name", "int32, int64, float32, float64")]
)
def test_a_wrong_column_is_one_clear_error_that_names_the_right_ones(call, table, tmp_path, column, found):
    message = assert_one_clear_error(call(*SPLIT, "--input", table, "--column", column))
    assert found in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("column", "where"),
    [("double", "15"), ("double", "> x"), ("small", "> 1.5"), ("small", "> 3e9"), ("double", "> nan")],
)
def test_a_wrong_predicate_is_one_clear_error(call, table, tmp_path, column, where):
    args = [*SPLIT, "--input", table, "--column", column, "--where", where]
    assert "--where" in assert_one_clear_error(call(*args))
    assert not (tmp_path / "out").exists()


def test_an_output_directory_that_cannot_be_written_is_one_clear_error(godwit, table, tmp_path):
    (tmp_path / "out").write_text("a file in the way")
    assert "--output-dir" in assert_one_clear_error(godwit(*SPLIT, "--input", table))
    assert (tmp_path / "out").read_text() == "a file in the way"


def test_an_unknown_configuration_names_the_nearest(godwit, table, tmp_path):
    message = assert_one_clear_error(godwit(*SPLIT, "--input", table, "--config", "flecher"))
    assert "did you mean 'fletcher'?" in message
    assert not (tmp_path / "out").exists()
    assert "did you mean 'default'?" in assert_one_clear_error(godwit("card", "build", "defualt"))


@pytest.mark.parametrize(
    "override",
    ["translator.l1_entrys=4", "translatr.l1_entries=4", "translator.l1_entries=0", "translator.l1_entries"],
)
def test_a_wrong_override_is_one_clear_error(call, override):
    assert_one_clear_error(call("run", "memcopy", "--json", "--set", override))


def test_wrong_sizes_and_types_are_one_clear_error(call):
    assert_one_clear_error(call("run", "memcopy", "--json", "--bytes", "12Q"))
    assert_one_clear_error(call("run", "memcopy", "--json", "--page-size", "8K"))
    assert "did you mean 'int64'?" in assert_one_clear_error(
        call("run", "array-sum", "--json", "--dtype", "int46")
    )
    assert_one_clear_error(call("run", "array-sum", "--json", "--bytes", "4"))


def test_a_missing_kernel_source_is_one_clear_error(godwit):
    assert "mine.sv" in assert_one_clear_error(godwit("run", "memcopy", "--json", "--kernel", "mine.sv"))


def test_an_unwritable_trace_file_is_one_clear_error(godwit):
    assert "nowhere" in assert_one_clear_error(
        godwit("run", "memcopy", "--json", "--axi-trace", "nowhere/axi.csv")
    )


def test_debug_shows_the_traceback(godwit, table):
    done = godwit(*SPLIT, "--input", "none.parquet", GODWIT_DEBUG="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_an_unbuilt_card_says_how_to_build_it(godwit, tmp_path):
    done = godwit("card", "info", "default", "--json", GODWIT_CACHE=str(tmp_path / "cache"))
    assert "godwit card build default" in assert_one_clear_error(done)


def test_card_list_and_prune_of_an_empty_cache(godwit, tmp_path):
    cache = {"GODWIT_CACHE": str(tmp_path / "cache")}
    listed = json.loads(godwit("card", "list", "--json", **cache).stdout)
    assert listed["cards"] == []
    assert {"tiny", "default", "fletcher"} <= {entry["name"] for entry in listed["configurations"]}
    assert json.loads(godwit("card", "prune", "--json", **cache).stdout) == {"removed": [], "freed_bytes": 0}
    assert "sim:tiny" in godwit("card", "list", **cache).stdout


def test_flights_are_written_once(godwit, tmp_path):
    first, second = (
        json.loads(godwit("data", "flights", "--output", "f.parquet", "--json").stdout) for _ in range(2)
    )
    assert (first["rows"], first["written"], second["written"]) == (336_776, True, False)
    assert pq.read_metadata(tmp_path / "f.parquet").num_rows == 336_776


def test_doctor_without_the_source_tree_says_so_and_fails(godwit, tmp_path):
    done = godwit("doctor", "--json", GODWIT_ROOT=str(tmp_path), GODWIT_CACHE=str(tmp_path / "cache"))
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["works"] is False
    tree = next(check for check in report["checks"] if check["name"] == "source tree")
    assert tree["status"] == "missing"
    assert "GODWIT_ROOT" in tree["found"] + tree["hint"]


def test_doctor_of_a_package_names_only_what_helps_there(monkeypatch):
    """Outside a checkout there is no make and there are no tests."""
    monkeypatch.setattr(doctor.toolchain, "version", lambda name: "missing")
    for in_checkout in (True, False):
        monkeypatch.setattr(doctor.toolchain, "is_checkout", lambda in_checkout=in_checkout: in_checkout)
        monkeypatch.setattr(doctor, "_cards", lambda: iter(()))
        checks = list(doctor.examine())
        assert any(check.hint.startswith("make ") for check in checks) == in_checkout
        assert ("pytest" in {check.name for check in checks}) == in_checkout


@pytest.fixture
def suites(tmp_path, monkeypatch):
    """A source tree whose only benchmark suite is `demo`."""
    tree = tmp_path / "tree"
    (tree / "spec").mkdir(parents=True)
    (tree / "spec" / "layout.toml").write_text("")
    (tree / "Cargo.toml").write_text("")  # a checkout, not a package
    (tree / "bench" / "suites").mkdir(parents=True)
    (tree / "bench" / "suites" / "demo.py").write_text(
        '"""Two rows of made-up numbers.\n\nMore."""\n'
        "from godwit.report import Row\n"
        "def run(progress):\n"
        "    progress('half', 1, 2)\n"
        "    return [Row('demo', 'walk', 'tiny', 19, 'cycles', theirs=33, goal='<= 17'),\n"
        "            Row('demo', 'hit', 'tiny', 1, 'cycles', goal='<= 1')]\n"
    )
    return tree


def test_bench_prints_a_table_and_writes_a_plot(godwit, suites):
    done = godwit("bench", "demo", GODWIT_ROOT=str(suites))
    assert done.returncode == 0, done.stderr
    assert "1 of 2 goals reached" in done.stdout
    assert "NOT reached" in next(line for line in done.stdout.splitlines() if line.startswith("walk"))
    assert (suites / "build" / "bench" / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_bench_json_is_one_array_of_rows(godwit, suites, tmp_path):
    done = godwit("bench", "demo", "--json", "--plot", tmp_path / "x.png", GODWIT_ROOT=str(suites))
    rows = json.loads(done.stdout)
    assert [row["reached"] for row in rows] == [False, True]
    assert list(rows[0]) == ["suite", "row", "config", "value", "unit", "theirs", "goal", "reached", "kind"]
    assert (tmp_path / "x.png").exists()


@pytest.mark.parametrize("plot", ["x.foo", "none/x.png", "directory.png"])
def test_a_plot_that_cannot_be_is_refused_before_anything_is_measured(godwit, suites, tmp_path, plot):
    (tmp_path / "directory.png").mkdir()
    done = godwit("bench", "demo", "--plot", tmp_path / plot, GODWIT_ROOT=str(suites))
    assert "cannot write" in assert_one_clear_error(done) and "goals" not in done.stdout


def test_what_was_measured_is_printed_where_its_plot_cannot_be_written(godwit, suites, tmp_path):
    plot = tmp_path / "x.png"
    suite = suites / "bench" / "suites" / "demo.py"
    # It could be written when the suite began.
    made = f"def run(progress):\n    __import__('os').mkdir({str(plot)!r})\n"
    suite.write_text(suite.read_text().replace("def run(progress):\n", made))
    done = godwit("bench", "demo", "--plot", plot, GODWIT_ROOT=str(suites))
    assert done.returncode == 1
    assert "1 of 2 goals reached" in done.stdout and "plot:" not in done.stdout
    assert "cannot write the plot" in done.stderr


def test_an_unknown_suite_is_one_clear_error(godwit, suites):
    done = godwit("bench", "--json", "dmeo", GODWIT_ROOT=str(suites))
    assert "did you mean 'demo'?" in assert_one_clear_error(done)


def test_an_option_that_a_suite_does_not_take_is_one_clear_error(godwit, suites):
    done = godwit("bench", "demo", "--paper", "C", GODWIT_ROOT=str(suites))
    assert "suite 'demo' takes no --paper" in assert_one_clear_error(done)


def test_bench_without_a_suite_names_them(godwit, suites):
    done = godwit("bench", GODWIT_ROOT=str(suites))
    assert done.returncode == 2
    assert "demo" in done.stderr


def test_bench_lists_its_suites(godwit, suites):
    assert godwit("bench", "--list", GODWIT_ROOT=str(suites)).stdout == "demo\n"
    about = json.loads(godwit("bench", "--list", "--json", GODWIT_ROOT=str(suites)).stdout)
    assert about == [{"suite": "demo", "about": "Two rows of made-up numbers."}]


def test_a_reader_that_leaves_is_no_error(table, tmp_path):
    command = f"{sys.executable} -m godwit card list | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""


def test_no_color_is_honoured_on_a_terminal(tmp_path):
    coloured, plain = (
        on_a_terminal(["card", "list"], {"NO_COLOR": value, "TERM": "xterm"}) for value in ("", "1")
    )
    assert "\x1b[" in coloured
    assert "╭" in plain
    assert "\x1b[3" not in plain


def on_a_terminal(args: list[str], env: dict[str, str]) -> str:
    """What the command prints when its output is a terminal."""
    import pty

    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "godwit", *args], stdout=child, stderr=child, env={**os.environ, **env}
    ) as process:
        os.close(child)
        chunks = []
        while True:
            try:
                chunk = os.read(parent, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            chunks.append(chunk)
        process.wait(60)
    os.close(parent)
    return b"".join(chunks).decode()


def test_an_error_of_the_clean_up_after_ctrl_c_is_ctrl_c(monkeypatch, capsys):
    """An interrupt behind the end of a `with lock` has Python release the lock once more."""
    from godwit.cli import app

    class Command:
        def main(self, *_: object, **__: object) -> None:
            try:
                raise KeyboardInterrupt
            finally:
                raise RuntimeError("release unlocked lock")

    monkeypatch.setattr(app.typer.main, "get_command", lambda _: Command())
    monkeypatch.setattr(app.signal, "signal", lambda *_: None)
    assert app.run([]) == app.CANCELLED
    assert capsys.readouterr().err == "cancelled\n"
