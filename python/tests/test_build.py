# SPDX-License-Identifier: Apache-2.0
"""The card builder: what is cached, what is not, and that nothing is left behind. Builds use the smallest card."""

from __future__ import annotations

import ctypes
import errno
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import hls_text
import numpy as np
import pytest

import godwit
from godwit import cards, toolchain
from godwit.card import build, plan
from godwit.card.interface import KernelError
from godwit.card.process import BuildError
from godwit.errors import SetupError
from godwit.report import showing

# Same model, least time in the compiler; ports and kernels are what is tested here.
FAST = {"fast": "-O0", "slow": "-O0", "runtime": "-O0"}

BROKEN = """
module broken (
  input logic ap_clk
);
  assign nothing = here;
endmodule
"""

MANIFEST = 'name = "{name}"\nsources = ["{name}.sv"]\n'


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(plan, "LEVELS", FAST)
    return tmp_path / "cache" / "cards"


def _build_and_report(directory: str, results) -> None:
    os.environ["GODWIT_CACHE"] = directory
    plan.LEVELS = FAST
    steps = []
    card = build.build(plan.plan("tiny"), progress=lambda *step: steps.append(step))
    results.put((card.cached, str(card.library), steps))


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """What two processes say that build one tiny card at the same time, the builder's first; and their cache."""
    directory = tmp_path_factory.mktemp("a cache")
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=_build_and_report, args=(str(directory), results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    answers = [results.get(timeout=900) for _ in workers]
    for worker in workers:
        worker.join()
    return sorted(answers, key=lambda answer: answer[0]), directory


@pytest.fixture
def built(reports, monkeypatch):
    """That card, what was reported while it was built, and the directory of its cache, which is in use."""
    answers, directory = reports
    monkeypatch.setenv("GODWIT_CACHE", str(directory))
    monkeypatch.setattr(plan, "LEVELS", FAST)
    return build.build(plan.plan("tiny")), answers[0][2], directory


def kernel_files(directory: Path, name: str, text: str) -> Path:
    (directory / f"{name}.toml").write_text(MANIFEST.format(name=name))
    source = directory / f"{name}.sv"
    source.write_text(text)
    return source


def visible(directory: Path) -> list[str]:
    """What a build leaves in the cache, hidden files too; locks are empty and stay."""
    return sorted(path.name for path in directory.glob("*") if path.suffix != ".lock")


def test_a_build_makes_a_library_that_says_what_it_is(built):
    card, steps, _ = built
    library = ctypes.CDLL(str(card.library))
    library.gw_card_describe.restype = ctypes.c_char_p
    described = json.loads(library.gw_card_describe())
    assert described == json.loads((card.directory / "card.json").read_text())
    assert (described["name"], described["hash"], described["abi"]) == ("tiny", card.hash, plan.ABI)
    assert described["config"]["card"]["external_ports"] == 2
    names = [what for what, _, _ in steps]
    assert names[0] == "verilate"
    assert names[-1] == "compile"
    assert all(0 <= done <= total for _, done, total in steps)
    assert steps[-1][1] == steps[-1][2] > 5


def test_the_second_build_takes_what_is_there(built):
    card, _, directory = built
    before = card.library.stat()
    steps = []
    again = build.build(plan.plan("tiny"), progress=lambda *step: steps.append(step))
    assert (again.cached, again.library, steps, again.named) == (True, card.library, [], True)
    assert card.library.stat().st_mtime_ns == before.st_mtime_ns
    pointer = json.loads((directory / "cards" / "tiny.json").read_text())
    assert pointer == {
        "name": "tiny",
        "hash": card.hash,
        "library": f"tiny-{card.hash}/{plan.LIBRARY}",
        "config": str(toolchain.root() / "spec" / "configs" / "tiny.toml"),
    }
    assert visible(directory / "cards") == [f"tiny-{card.hash}", "tiny.json"]


def test_a_cache_can_be_moved(built, tmp_path, monkeypatch):
    card, _, directory = built
    shutil.copytree(directory, tmp_path / "moved")
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path / "moved"))
    from godwit import _native

    opened = _native.Card.open("sim:tiny", None)  # by the pointer, as Rust and C do
    assert json.loads(opened.describe())["hash"] == card.hash


def test_a_name_stays_with_its_file(built, tmp_path, monkeypatch):
    """A copy of a configuration is the same card; a changed copy that keeps the name is another, and gets no name."""
    _, _, directory = built
    cards_dir = directory / "cards"
    before = (cards_dir / "tiny.json").read_text()
    copy = tmp_path / "mine.toml"
    copy.write_text((toolchain.root() / "spec" / "configs" / "tiny.toml").read_text())
    same = build.build(plan.plan(copy))
    assert (same.hash, same.named, same.cached) == (plan.plan("tiny").hash, False, True)
    assert (cards_dir / "tiny.json").read_text() == before
    said = cards.note(same, copy)
    assert "sim:tiny is the card of" in said
    assert "configs/tiny.toml" in said

    # Two files of the user's with one name: the first keeps it while it is there.
    def compile_nothing(work, todo, jobs, report):
        (work / "model").mkdir()
        (work / "model" / plan.LIBRARY).write_bytes(b"")
        return work / "model" / plan.LIBRARY

    monkeypatch.setattr(build, "compile_card", compile_nothing)
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path))
    text = copy.read_text().replace('"tiny"', '"ours"')
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text(text)
    second.write_text(text.replace("clock_mhz = 100", "clock_mhz = 101"))
    assert build.build(plan.plan(first)).named
    assert not build.build(plan.plan(second)).named
    assert [(card.newest, card.config) for card in cards.listing()] == [(True, str(first)), (False, "")]
    first.unlink()
    assert build.build(plan.plan(second)).named

    # Nor is the name that of a card with changes, which its builder hears.
    changed = build.build(plan.plan(second, ["translator.l1_entries=3"]))
    assert not changed.named
    assert f"open this one as sim:{changed.library}" in cards.note(changed, second)


def test_a_card_is_opened_with_what_was_asked(built):
    card, _, _ = built
    with godwit.open("sim:tiny", overrides=["memory.latency_cycles=50"], build=False) as opened:
        assert opened.description["hash"] == card.hash
        assert opened.config["memory"]["latency_cycles"] == 50
        assert opened.config["memory"]["page_table_latency_cycles"] == 4


@pytest.mark.parametrize("kind", ["a file", "a folder that cannot be made", "full"])
def test_a_cache_that_cannot_be_used_is_one_clear_sentence(tmp_path, monkeypatch, kind):
    place = tmp_path / "cache"
    if kind == "a file":
        place.write_text("")
    elif kind == "full":

        def compile_card(work, todo, jobs, report):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(work / "model"))

        monkeypatch.setattr(build, "compile_card", compile_card)
    else:
        place = Path("/proc/self/cache")
    monkeypatch.setenv("GODWIT_CACHE", str(place))
    with pytest.raises(SetupError) as refused:
        build.build(plan.plan("tiny"))
    assert f"the card cache {place} cannot keep a card" in str(refused.value)
    assert "GODWIT_CACHE" in refused.value.hint
    assert str(place) in refused.value.found
    assert cards.listing() == []


@pytest.mark.parametrize("free", [300 << 10, 10 << 30])
def test_a_file_that_is_cut_off_for_lack_of_room_is_no_defect(tmp_path, monkeypatch, free):
    def compile_card(work, todo, jobs, report):
        # As Verilator leaves its list of what it made.
        json.loads("")

    monkeypatch.setattr(build, "compile_card", compile_card)
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path))
    room = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(cards.shutil, "disk_usage", lambda _: room)
    with pytest.raises(SetupError if free < cards.BUILD_BYTES else ValueError) as failed:
        cards.ensure("tiny")
    if isinstance(failed.value, SetupError):
        assert str(failed.value).startswith(f"the card cache {tmp_path} has no room for a build")
        assert failed.value.found.startswith("300 KiB free; ") and "100 MiB" in failed.value.hint
    assert cards.listing() == []


def test_a_card_in_a_cache_that_cannot_be_written_is_used(built, monkeypatch):
    card, _, _ = built

    def refuse(*_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(build, "write_if_changed", refuse)
    assert build.build(plan.plan("tiny")).library == card.library


def test_odd_things_in_a_cache_are_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path))
    for name in ("tiny-12345678", "nothing", "tiny.json"):
        (tmp_path / "cards" / name).mkdir(parents=True)
    (tmp_path / "cards" / "list.json").write_text("[1]")
    card = tmp_path / "cards" / "list-0123456789abcdef"
    card.mkdir()
    for name in (plan.LIBRARY, "card.json"):
        (card / name).write_text("no JSON")
    (found,) = cards.listing()
    assert (found.name, found.newest) == ("list", False)
    with pytest.raises(SetupError, match="cannot be described"):
        found.description()


def test_a_command_shows_the_builds_that_a_suite_needs(monkeypatch):
    seen = []

    def pretend(todo, *, progress, **_):
        progress("verilate", 0, 1)

    monkeypatch.setattr(build, "build", pretend)
    with showing(lambda *step: seen.append(step)):
        cards.ensure("tiny")
    cards.ensure("tiny")
    assert seen == [("building card tiny: verilate", 0, 1)]


def test_the_number_of_compilers_can_be_said(monkeypatch):
    monkeypatch.setenv("GODWIT_JOBS", "3")
    assert toolchain.jobs() == 3
    monkeypatch.setenv("GODWIT_JOBS", "none")
    with pytest.raises(SetupError, match="GODWIT_JOBS"):
        toolchain.jobs()
    monkeypatch.delenv("GODWIT_JOBS")
    assert 1 <= toolchain.jobs() <= 4


def test_only_the_configuration_as_its_file_has_it_gets_the_name(tmp_path):
    assert plan.plan("tiny").as_named
    assert not plan.plan("tiny", ["translator.l1_entries=2"]).as_named
    assert not plan.plan("tiny", waves=True).as_named
    source = kernel_files(tmp_path, "mine", hls_text.module("mine"))
    assert not plan.plan("tiny", kernels=[source]).as_named


def test_what_goes_into_the_hash(tmp_path, monkeypatch):
    base = plan.plan("tiny")
    assert plan.plan("tiny").hash == base.hash
    assert plan.plan("tiny", waves=True).hash != base.hash
    assert plan.plan("tiny", ["translator.l1_entries=2"]).hash != base.hash
    source = kernel_files(tmp_path, "mine", hls_text.module("mine"))
    mine = plan.plan("tiny", kernels=[source])
    before = mine.hash
    assert before != base.hash
    assert mine.config.card.kernels == ["mine"]
    source.write_text(hls_text.module("mine", body="// changed"))
    assert plan.plan("tiny", kernels=[source]).hash != before
    monkeypatch.setattr(toolchain, "cxx_version", lambda: "another compiler")
    assert plan.plan("tiny").hash != base.hash


def test_a_source_that_changes_during_the_build_is_an_error(cache, tmp_path, monkeypatch):
    source = kernel_files(tmp_path, "mine", hls_text.module("mine"))

    def compile_and_edit(work, todo, jobs, report):
        source.write_text(hls_text.module("mine", body="// changed"))
        library = work / plan.LIBRARY
        library.write_bytes(b"")
        return library

    monkeypatch.setattr(build, "compile_card", compile_and_edit)
    with pytest.raises(BuildError, match="changed while it was built"):
        build.build(plan.plan("tiny", kernels=[source]))
    assert visible(cache) == []


def test_a_kernel_that_does_not_compile_leaves_nothing(cache, tmp_path):
    source = kernel_files(tmp_path, "broken", BROKEN)
    with pytest.raises(KernelError) as caught:
        plan.plan("tiny", kernels=[source])
    assert "kernel broken does not compile" in str(caught.value)
    assert f"{source}:5:" in caught.value.found
    assert "Exiting due to" not in caught.value.found
    assert not cache.exists()


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("input logic ap_clk", "has no port ap_rst_n"),
        ("input logic ap_clk, input logic [1:0] ap_rst_n", "port ap_rst_n must be 1 bit wide"),
    ],
)
def test_a_kernel_with_other_ports_is_refused(cache, tmp_path, port, message):
    source = kernel_files(tmp_path, "odd", f"module odd ({port});\nendmodule\n")
    with pytest.raises(KernelError, match=message):
        plan.plan("tiny", kernels=[source])
    assert not cache.exists()


def test_waves_without_their_library_are_one_clear_line(cache, monkeypatch):
    monkeypatch.setattr(toolchain, "has_lz4", lambda: False)
    with pytest.raises(SetupError) as caught:
        build.build(plan.plan("tiny", waves=True))
    assert "lz4.h" in str(caught.value)
    assert "liblz4-dev" in caught.value.hint
    assert not cache.exists()


def test_a_compiler_error_is_shown(cache, monkeypatch):
    monkeypatch.setattr(plan, "CXX_OPTIONS", ("-include", "missing.h"))
    with pytest.raises(BuildError) as caught:
        build.build(plan.plan("tiny"))
    assert "missing.h" in caught.value.found
    assert visible(cache) == []


def test_a_profile_guided_card_is_trained_and_works(cache):
    smallest = {
        "translator": ("l1_entries=1", "miss_entries=2", "outstanding=2"),
        "walker": ("requests=2", "lines=2"),
    }
    overrides = [f"{section}.{item}" for section, items in smallest.items() for item in items]
    overrides += ["l2.sets=0", "range.entries=0", "card.assertions=false", "card.external_ports=0"]
    overrides += ['card.kernels=["array_sum"]', "card.profile_guided=true"]
    steps = []
    card = build.build(plan.plan("tiny", overrides), progress=lambda *step: steps.append(step))
    names = list(dict.fromkeys(what for what, _, _ in steps))
    assert names == ["verilate", "compile for a profile", "profile", "compile"]
    with godwit.open(f"sim:{card.library}") as opened:
        values = opened.put(np.arange(1000))
        assert opened.launch("array_sum", values=values, count=1000, dtype=1).sum == 499_500


def test_builds_of_one_card_at_the_same_time_make_it_once(reports):
    (built, library, steps), (cached, same, waited) = reports[0]
    assert (built, cached, same) == (False, True, library)
    assert len(steps) > 5
    # The other one says for whom it waits.
    ((what, _, _),) = waited
    assert re.fullmatch(r"waiting for process \d+ on \S+, which builds it", what)
    assert Path(library).is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_build_that_ends_early_leaves_nothing(tmp_path, number):
    """While the compiler runs: the command ends, so does the compiler, and the cache is as before. What a killed builder
    leaves in the cache is hidden, and goes with the next build.
    """
    env = {
        **os.environ,
        "GODWIT_CACHE": str(tmp_path),
        "PYTHONPATH": str(toolchain.root() / "python"),
        "CCACHE_DISABLE": "1",
    }
    # Under nohup this process ignores SIGHUP, and a child of it would.
    command = ["env", "--default-signal", sys.executable, "-m", "godwit", "card", "build", "--config", "tiny"]
    process = subprocess.Popen(
        [*command, "--set", "translator.miss_entries=5"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "compile" in line:
            break
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
        assert all(name.endswith(".build") for name in visible(tmp_path / "cards"))
    else:
        assert (process.returncode, said) == (130, "cancelled\n")
        assert visible(tmp_path / "cards") == []
    deadline = time.monotonic() + 30
    while _running_in(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _running_in(tmp_path) == []


def _running_in(directory: Path) -> list[str]:
    """Command lines of processes that work below `directory`."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cwd").readlink().is_relative_to(directory):
                found.append((path / "cmdline").read_text().replace("\0", " "))
        except OSError:  # it ended meanwhile, or is not ours
            continue
    return found


def test_a_file_of_godwits_own_is_the_same_in_every_checkout(tmp_path, monkeypatch):
    """Such as the card that a test needs: what another checkout has built does not keep the name."""
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path))
    (tmp_path / "cards").mkdir()
    cards_of = {}
    for checkout in ("one", "two"):
        root = tmp_path / checkout
        for place in ("spec/configs/default.toml", "hw/test/ours.toml", "hw/other/ours.toml"):
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            (root / place).write_text("")
        cards_of[checkout] = root / "hw/test/ours.toml"
    (tmp_path / "cards/ours.json").write_text(json.dumps({"config": str(cards_of["one"])}))
    assert build.owner("ours", cards_of["two"]) == ""
    # Another file of the same name, and one of a folder that is no checkout, are others.
    assert build.owner("ours", tmp_path / "two/hw/other/ours.toml") == str(cards_of["one"])
    (tmp_path / "two/spec/configs/default.toml").unlink()
    assert build.owner("ours", cards_of["two"]) == str(cards_of["one"])
