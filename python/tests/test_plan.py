# SPDX-License-Identifier: Apache-2.0
"""What the card builder plans before anything is built: settings, kernels, their wiring, and what is compiled with what."""

from __future__ import annotations

import pytest

from godwit.card import kernel, plan, slots, wiring
from godwit.card.manifest import ManifestError
from godwit.card.process import BuildError
from godwit.errors import InputError


def test_memory_and_link_settings_build_no_card():
    base = plan.plan("tiny")
    asked = ["memory.latency_cycles=50", "host_link.latency_ns=7", "memory.model=banked"]
    asked += ["host_link.model=packets", "host_link.tags=8"]
    todo = plan.plan("tiny", asked)
    assert (todo.hash, todo.as_named) == (base.hash, True)
    assert todo.settings == {
        "memory": {"model": "banked", "latency_cycles": 50},
        "host_link": {"model": "packets", "latency_ns": 7.0, "tags": 8},
    }
    controller = plan.plan("tiny", ["memory.model=litedram-ddr4", "memory.controller_mhz=250"])
    assert (controller.hash != base.hash, controller.settings) == (True, {})
    with pytest.raises(InputError, match="latency_cycles"):
        plan.plan("tiny", ["memory.latency_cycles=-1"])


def test_kernels_and_manifests_that_are_not_there(tmp_path):
    with pytest.raises(BuildError) as caught:
        plan.plan("tiny", ['card.kernels=["memcpy"]'])
    assert "no kernel 'memcpy'" in str(caught.value)
    assert "memcopy" in caught.value.hint
    with pytest.raises(ManifestError, match="does not exist"):
        plan.plan("tiny", kernels=[tmp_path / "none.sv"])


def test_a_profile_needs_a_kernel_to_run():
    with pytest.raises(BuildError, match="no kernel to make a profile with") as refused:
        plan.plan("tiny", ["card.profile_guided=true"])
    assert "memcopy, array_sum" in (refused.value.hint or "")


def test_kernel_wiring_has_every_port():
    """The generated slots of Godwit's own kernels: one instance each, every pin connected once."""
    todo = plan.plan("default")
    probed = [kernel.probed(own, todo.config.axi.id_width) for own in todo.kernels]
    made = wiring.modules(slots.slots(probed, todo.config.card.external_ports), [], [], todo.config)
    for own in probed:
        for port in own.ports:
            assert made[f"gw_slot_{own.manifest.name}"].count(f".{port}(") == 1, port
        assert made["gw_kernels"].count(f"gw_slot_{own.manifest.name} #(") == 1
    assert made["gw_kernels"].count(".irq_o(irq_o[") == len(probed)


def test_sources_are_told_apart_by_what_they_read(tmp_path):
    """What reads nothing of a card is compiled once for all."""
    (tmp_path / "model.hpp").write_text('#include "Vgw_card_top.h"\n')
    (tmp_path / "pins.hpp").write_text('#include "model.hpp"\n#include "pins.hpp"\n')
    for name, read in {"options": "", "card": "pins.hpp", "described": "gw_card_description.h"}.items():
        (tmp_path / f"{name}.cpp").write_text(f'#include "{read}"\n' if read else "")
    groups = plan.by_what_they_read(sorted(tmp_path.glob("*.cpp")))
    assert [[path.stem for path in group] for group in groups] == [["described"], ["card"], ["options"]]
    groups = plan.by_what_they_read(plan.simulation_sources())
    assert all(groups) and sorted(path for group in groups for path in group) == plan.simulation_sources()
