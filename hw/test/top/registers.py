# SPDX-License-Identifier: Apache-2.0
"""The register map as the benches use it, straight from spec/: offsets and fields by name."""

from __future__ import annotations

import random

from cocotb.triggers import RisingEdge

from godwit.spec import layout
from godwit.spec import registers as rdl

OKAY, SLVERR, DECERR = 0, 2, 3


class Registers:
    """Register map for a number of contexts and ports, and accesses through an AXI4-Lite master."""

    def __init__(self, master, contexts: int, ports: int, base: int = 0):
        self.master, self.base = master, base
        top = rdl.elaborate(contexts, ports)
        self.all = {register.name: register for register in rdl.registers(top)}
        self.constants = {constant.upper: constant for group in layout.load() for constant in group.constants}

    def offset(self, name: str, *index: int) -> int:
        register = self.all[name]
        assert len(index) == len(register.strides), f"{name} needs {len(register.strides)} indices"
        return (
            self.base
            + register.offset
            + sum(i * stride for i, (_, stride) in zip(index, register.strides, strict=True))
        )

    def pack(self, name: str, **values: int) -> int:
        """A register's value from its fields'."""
        fields = {field.inst_name: field for field in self.all[name].fields}
        return sum(value << fields[field].low for field, value in values.items())

    def unpack(self, name: str, value: int) -> dict[str, int]:
        return {f.inst_name: (value >> f.low) & ((1 << f.width) - 1) for f in self.all[name].fields}

    async def read(self, name: str, *index: int) -> int:
        """Value of a register; 64 bits as two words, the lower first."""
        words = 2 if self.all[name].width == 64 else 1
        value = 0
        for word in range(words):
            answer = await self.master.read(self.offset(name, *index) + 4 * word, 4)
            assert answer.resp == OKAY, f"{name}: {answer.resp!r}"
            value |= int.from_bytes(answer.data, "little") << (32 * word)
        return value

    async def fields(self, name: str, *index: int) -> dict[str, int]:
        return self.unpack(name, await self.read(name, *index))

    async def write(self, name: str, value: int, *index: int) -> None:
        words = 2 if self.all[name].width == 64 else 1
        for word in range(words):
            data = ((value >> (32 * word)) & 0xFFFF_FFFF).to_bytes(4, "little")
            answer = await self.master.write(self.offset(name, *index) + 4 * word, data)
            assert answer.resp == OKAY, f"{name}: {answer.resp!r}"

    async def raw_read(self, offset: int):
        return await self.master.read(self.base + offset, 4)

    async def raw_write(self, offset: int, value: int):
        return await self.master.write(self.base + offset, value.to_bytes(4, "little"))


async def cycles(dut, count: int) -> None:
    for _ in range(count):
        await RisingEdge(dut.clk_i)


def random_context(rng: random.Random, page_requests: bool = False) -> int:
    """What a context register can hold; EN_PRI only where there are page requests."""
    return rng.randrange(1 << 5) << 59 | (page_requests and rng.randrange(2) << 58) | rng.randrange(1 << 44)
