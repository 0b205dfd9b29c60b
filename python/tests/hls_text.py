# SPDX-License-Identifier: Apache-2.0
"""Headers of kernels as HLS writes them, for tests: any bundles, widths and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

CONTROL = {
    "AWVALID": ("input", 1), "AWREADY": ("output", 1), "AWADDR": ("input", 6),
    "WVALID": ("input", 1), "WREADY": ("output", 1), "WDATA": ("input", 32), "WSTRB": ("input", 4),
    "ARVALID": ("input", 1), "ARREADY": ("output", 1), "ARADDR": ("input", 6),
    "RVALID": ("output", 1), "RREADY": ("input", 1), "RDATA": ("output", 32), "RRESP": ("output", 2),
    "BVALID": ("output", 1), "BREADY": ("input", 1), "BRESP": ("output", 2),
}  # fmt: skip


def memory(data: int = 512, addr: int = 64, ids: int = 1) -> dict[str, tuple[str, int]]:
    """Signals of a memory bundle with everything HLS gives it; `ids` 0: none."""
    ports: dict[str, tuple[str, int]] = {}
    for channel in ("AW", "AR"):
        ports |= {
            f"{channel}VALID": ("output", 1),
            f"{channel}READY": ("input", 1),
            f"{channel}ADDR": ("output", addr),
        }
        widths = {
            "LEN": 8,
            "SIZE": 3,
            "BURST": 2,
            "LOCK": 2,
            "CACHE": 4,
            "PROT": 3,
            "QOS": 4,
            "REGION": 4,
            "USER": 1,
        }
        ports |= {f"{channel}{field}": ("output", width) for field, width in widths.items()}
        if ids:
            ports[f"{channel}ID"] = ("output", ids)
    ports |= {"WVALID": ("output", 1), "WREADY": ("input", 1), "WDATA": ("output", data)}
    ports |= {"WSTRB": ("output", data // 8), "WLAST": ("output", 1), "WUSER": ("output", 1)}
    ports |= {
        "RVALID": ("input", 1),
        "RREADY": ("output", 1),
        "RDATA": ("input", data),
        "RLAST": ("input", 1),
    }
    ports |= {"RRESP": ("input", 2), "RUSER": ("input", 1)}
    ports |= {"BVALID": ("input", 1), "BREADY": ("output", 1), "BRESP": ("input", 2), "BUSER": ("input", 1)}
    if ids:
        ports |= dict.fromkeys(("RID", "BID"), ("input", ids))
    return ports


def stream(direction: str, data: int = 32, **sideband: int) -> dict[str, tuple[str, int]]:
    """Signals of a stream; `direction` is the kernel's: input or output."""
    back = "input" if direction == "output" else "output"
    ports = {"TDATA": (direction, data), "TVALID": (direction, 1), "TREADY": (back, 1)}
    return ports | {name.upper(): (direction, width) for name, width in sideband.items()}


def module(
    name: str,
    buses: Mapping[str, Mapping[str, tuple[str, int]]] | None = None,
    *,
    interrupt: bool = True,
    extra: Sequence[str] = (),
    body: str = "",
) -> str:
    """A module with HLS's ports and `body` in it; `buses` are those beside the control port."""
    buses = {"m_axi_gmem": memory()} if buses is None else buses
    ports = [
        "input wire ap_clk",
        "input wire ap_rst_n",
        *(["output wire interrupt"] if interrupt else []),
        *extra,
    ]
    for prefix, signals in {"s_axi_control": CONTROL, **buses}.items():
        ports += [f"{way} wire [{width - 1}:0] {prefix}_{signal}" for signal, (way, width) in signals.items()]
    return f"module {name} (\n  " + ",\n  ".join(ports) + f"\n);\n{body}\nendmodule\n"
