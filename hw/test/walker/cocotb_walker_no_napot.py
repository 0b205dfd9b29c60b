# SPDX-License-Identifier: Apache-2.0
"""gw_walker without Svnapot: N is a reserved bit, and nothing else changes."""

import cocotb
from page_tables import LEVELS, LOAD_PAGE, STORE_PAGE, Answer, Memory, napot, pte
from walker_bench import Bench, Request

MODE = min(LEVELS, key=LEVELS.get)


@cocotb.test()
async def an_entry_with_n_faults_and_its_neighbours_do_not(dut):
    memory = Memory()
    b = Bench(dut, memory, latency=3)
    root = memory.frame()
    await b.start({0: (MODE, root)})
    for i in range(16):
        memory.map(root, LEVELS[MODE], 32 + i, napot(0x7_1234_5670))
    memory.map(root, LEVELS[MODE], 31, pte(0x1_0001))
    memory.map(root, LEVELS[MODE], 48, pte(0x1_0002))
    asked = [Request(0, vpn, write) for write in (False, True) for vpn in range(31, 49)]
    answers = [request.answer for request in await b.run(asked)]
    for fault, at in ((LOAD_PAGE, 0), (STORE_PAGE, 18)):
        assert answers[at] == Answer(None, 0x1_0001, 0, 3)
        assert answers[at + 1 : at + 17] == [Answer(fault)] * 16
        assert answers[at + 17] == Answer(None, 0x1_0002, 0, 3)
