# SPDX-License-Identifier: Apache-2.0
"""The half of the page-table memory that gw_walker uses for A and D: exclusive reads and writes of one entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from page_tables import A, D, Memory, V

ENTRY_SHAPE = 0 << 5 | 3 << 2 | 1  # one beat of eight bytes, INCR
UPDATE_ID = 1 << 6
OKAY, EXOKAY, SLVERR = 0, 1, 2


@dataclass
class Updates:
    """Memory with one exclusive monitor: any write to the reserved entry, whoever's, ends the reservation."""

    dut: object
    memory: Memory
    rng: Random
    ready: Callable[[], bool] = lambda: True
    delay: Callable[[], int] = lambda: (
        2
    )  # cycles from address and data to the write, and from there to the answer
    supported: bool = True
    fails: Callable[[], bool] = lambda: False  # a reservation is lost for no reason
    error: Callable[[], bool] = lambda: False  # the write is answered with an error, and not done
    on_update: Callable[[int, int], None] = lambda address, entry: None
    done: list[tuple[int, int, int]] = field(default_factory=list)  # (address, entry before, after)
    reads: int = 0
    reserved: int | None = None
    _address: int | None = None
    _data: int | None = None
    _write_at: int | None = None
    _answer: tuple[int, int] | None = None  # (cycle, response)

    def __post_init__(self) -> None:
        self.memory.on_write = self._written
        for name in ("aw_ready", "w_ready", "b_valid", "b_id", "b_resp"):
            getattr(self.dut, f"{name}_i").value = 0

    def _written(self, address: int) -> None:
        if address == self.reserved:
            self.reserved = None

    def read(self, address: int) -> int:
        """An exclusive read; its response."""
        assert address % 8 == 0
        self.reads += 1
        self.reserved = address if self.supported else None
        return EXOKAY if self.supported else OKAY

    def drive(self, cycle: int) -> None:
        dut = self.dut
        if self._write_at is not None and cycle >= self._write_at:
            self._write(cycle)
        self._aw_ready, self._w_ready = self.ready(), self.ready()
        dut.aw_ready_i.value, dut.w_ready_i.value = int(self._aw_ready), int(self._w_ready)
        answer = self._answer if self._answer and cycle >= self._answer[0] else None
        dut.b_valid_i.value = int(answer is not None)
        if answer:
            dut.b_id_i.value, dut.b_resp_i.value = UPDATE_ID, answer[1]
            self._answer = None

    def sample(self, cycle: int) -> None:
        dut = self.dut
        assert dut.b_ready_o.value == 1
        if self._aw_ready and dut.aw_valid_o.value:
            assert self._address is None and self._write_at is None and self._answer is None
            assert int(dut.aw_id_o.value) == UPDATE_ID and int(dut.aw_shape_o.value) == ENTRY_SHAPE
            assert dut.aw_lock_o.value == 1
            self._address = int(dut.aw_addr_o.value)
        if self._w_ready and dut.w_valid_o.value:
            assert self._data is None and dut.w_last_o.value == 1
            strobe, data = int(dut.w_strb_o.value), int(dut.w_data_o.value)
            lane = (strobe & -strobe).bit_length() - 1
            assert strobe == 0xFF << lane
            self._data = data >> 8 * lane & (1 << 64) - 1
            self._lane = lane
        if self._address is not None and self._data is not None and self._write_at is None:
            assert self._address % 64 == self._lane
            self._write_at = cycle + 1 + self.delay()

    def _write(self, cycle: int) -> None:
        address, entry = self._address, self._data
        before = self.memory.words.get(address, 0)
        if self.error():
            resp = SLVERR
        elif self.reserved != address or self.fails():
            resp = OKAY
        else:
            resp = EXOKAY
            changed = before ^ entry
            assert changed and changed & ~(A | D) == 0 and entry & changed == changed, "only A and D are set"
            assert before & V and (not changed & D or entry & A)
            self.memory.words[address] = entry
            self.memory.changed.add(address)
            self.done.append((address, before, entry))
            self.on_update(address, entry)
        self.reserved = self._address = self._data = self._write_at = None
        self._answer = cycle + 1 + self.delay(), resp
