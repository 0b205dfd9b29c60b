# SPDX-License-Identifier: Apache-2.0
"""Event files: what the card wrote is what comes out, in both formats, and what the counters say happened."""

from __future__ import annotations

import json
import struct
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from godwit import events
from godwit.errors import InputError
from godwit.shared import Migration

KINDS = [
    {"level": "l1", "name": "hit", "value": ""},
    {"level": "l1", "name": "miss", "value": ""},
    {"level": "walker", "name": "start", "value": ""},
    {"level": "walker", "name": "end", "value": "latency"},
    {"level": "invalidation", "name": "begin", "value": "scope"},
]
HIT, MISS, START, END, INVALIDATION = range(5)
OWNED = {("l2", name) for name in ("hit", "range_hit", "miss")}
OWNED |= {("walker", name) for name in ("start", "end", "merge", "line_hit", "prefetch_used", "update")}
"""Events behind the ports that one access causes."""


def raw_file(path: Path, records: list[tuple[int, ...]]) -> Path:
    """A stream as the card writes it; records are (cycle, kind, port, channel, context, value)."""
    header = json.dumps({"clock_mhz": 250, "ports": ["alpha", "beta"], "kinds": KINDS}).encode()
    packed = [
        struct.pack("<QBBBBHH", cycle, kind, port, channel, 0, context, value)
        for cycle, kind, port, channel, context, value in records
    ]
    path.write_bytes(b"GWEVENTS" + len(header).to_bytes(4, "little") + header + b"".join(packed))
    return path


RECORDS = [
    (10, MISS, 1, 0, 3, 0),
    (11, START, events.NONE, events.NONE, events.NO_CONTEXT, 0),
    (12, HIT, 0, 1, 3, 0),
    (13, HIT, 0, 1, 3, 0),
    (60, END, events.NONE, events.NONE, events.NO_CONTEXT, 50),
    (900, INVALIDATION, events.NONE, events.NONE, 4, 1),
]


def test_arrow_has_every_record(tmp_path, monkeypatch):
    """Column by column, nulls where there is no port, context or value, over several batches."""
    monkeypatch.setattr(events, "BATCH", 4)
    out = tmp_path / "out.arrow"
    events.convert(raw_file(tmp_path / "raw", RECORDS), out, ".arrow")
    with pa.ipc.open_file(out) as file:
        assert file.num_record_batches == 2
        rows = file.read_all().to_pylist()
    names = ("cycle", "level", "event", "port", "channel", "context", "value")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (10, "l1", "miss", "beta", "read", 3, None),
        (11, "walker", "start", None, None, None, None),
        (12, "l1", "hit", "alpha", "write", 3, None),
        (13, "l1", "hit", "alpha", "write", 3, None),
        (60, "walker", "end", None, None, None, 50),
        (900, "invalidation", "begin", None, None, 4, 1),
    ]


@pytest.mark.parametrize("suffix", [".json", ".perfetto"])
def test_a_trace_shows_walks_as_spans_and_hits_as_counts(tmp_path, suffix):
    out = tmp_path / f"out{suffix}"
    events.convert(raw_file(tmp_path / "raw", RECORDS), out, suffix)
    trace = json.loads(out.read_text())["traceEvents"]
    begin, end = (next(event for event in trace if event["ph"] == phase) for phase in "be")
    # 50 cycles of 4 ns, both ends included: from the start of cycle 11 to the end of cycle 60.
    assert (begin["ts"], end["ts"]) == (pytest.approx(11 / 250), pytest.approx(61 / 250))
    counts = [event for event in trace if event["ph"] == "C"]
    assert sum(event["args"]["hit"] for event in counts) == 2
    assert {event["name"] for event in counts} == {"alpha write"}
    instants = {event["name"]: event["args"] for event in trace if event["ph"] == "i"}
    assert instants == {
        "miss": {"cycle": 10, "context": 3},
        "begin": {"cycle": 900, "context": 4, "scope": "context"},
    }


def test_no_event_is_a_valid_file(tmp_path):
    raw = raw_file(tmp_path / "raw", [])
    for suffix in events.SUFFIXES:
        events.convert(raw, tmp_path / f"out{suffix}", suffix)
    assert pa.ipc.open_file(tmp_path / "out.arrow").read_all().num_rows == 0
    assert all(event["ph"] == "M" for event in json.loads((tmp_path / "out.json").read_text())["traceEvents"])


def test_another_file_is_refused(tmp_path):
    (tmp_path / "raw").write_bytes(b"PAR1PAR1PAR1")
    with pytest.raises(InputError, match="not an event stream"):
        events.convert(tmp_path / "raw", tmp_path / "out.arrow", ".arrow")


@pytest.mark.parametrize(
    ("name", "said"), [("events.csv", ".arrow"), ("nowhere/events.arrow", "no such directory")]
)
def test_a_bad_path_is_one_clear_error(call, tmp_path, name, said):
    done = call("run", "memcopy", "--events", tmp_path / name, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("library")
def test_a_trace_has_migrations_beside_the_hardware(tmp_path):
    moves = [
        Migration(2_000_000, True, "request", 0x7000, 8192, True),
        Migration(5_000_000, False, "touch", 0x7000, 8192, False),
    ]
    out = tmp_path / "out.json"
    events.convert(raw_file(tmp_path / "raw", RECORDS), out, ".json", moves)
    trace = json.loads(out.read_text())["traceEvents"]
    pid = next(event["pid"] for event in trace if event.get("args", {}).get("name") == "migrations")
    shown = [event for event in trace if event["pid"] == pid and event["ph"] != "M"]
    assert [(event["name"], event["ts"], event["args"].get("bytes")) for event in shown] == [
        ("request", 2.0, 8192),
        ("touch", 5.0, 8192),
        ("on the card", 2.0, 8192),
        ("on the card", 5.0, 0),
    ]


def test_events_add_up_to_the_counters(call, tmp_path):
    """Every hit, miss and walk that the report counts is an event, at its port, and nothing else is left behind."""
    out = tmp_path / "run.arrow"
    done = call(
        "run", "memcopy", "--bytes", "1M", "--iterations", "2", "--page-size", "4K", "--events", out, "--json"
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)["figures"]
    rows = pa.ipc.open_file(out).read_all().to_pylist()
    found = Counter((row["level"], row["event"]) for row in rows)
    assert found["l1", "hit"] == figures["l1_hits"]["value"]
    assert found["l1", "miss"] == figures["l1_misses"]["value"] > 0
    assert found["l2", "hit"] == figures["l2_hits"]["value"] > 0
    assert found["l2", "range_hit"] == figures["range_hits"]["value"]
    assert found["l2", "miss"] == figures["l2_misses"]["value"] > 0
    assert found["l2", "fill"] > 0
    assert found["walker", "start"] == found["walker", "end"] == figures["walks"]["value"]
    assert found["walker", "page_table_read"] == figures["page_table_reads"]["value"]
    latencies = [row["value"] for row in rows if row["event"] == "end"]
    assert max(latencies) == figures["walk_latency_max"]["value"]
    assert {row["port"] for row in rows if row["level"] == "l1"} == {"memcopy"}
    owned = [row for row in rows if (row["level"], row["event"]) in OWNED]
    # What is read ahead is read for nobody; all other reads are for a walk.
    reads = [row for row in rows if row["event"] == "page_table_read"]
    assert sum(row["port"] is None for row in reads) == found["walker", "prefetch"] > 0
    owned += [row for row in reads if row["port"] is not None]
    assert {row["port"] for row in owned} == {"memcopy"}
    assert found["walker", "line_hit"] > 0
    assert {row["channel"] for row in owned} == {"read", "write"}
    contexts = {row["context"] for row in rows if row["level"] == "l1"}
    assert len(contexts) == 1
    assert {row["context"] for row in (*owned, *(row for row in rows if row["event"] == "fill"))} == contexts
    assert [row["cycle"] for row in rows] == sorted(row["cycle"] for row in rows)
    assert list(tmp_path.iterdir()) == [out]
