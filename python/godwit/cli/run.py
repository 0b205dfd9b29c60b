# SPDX-License-Identifier: Apache-2.0
"""``godwit run``: a workload on a card, checked and reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from godwit.cli.console import stdout
from godwit.cli.on_card import Work, on_card

if TYPE_CHECKING:
    from godwit.run.tlb_stress import Sweep
    from godwit.run.workload import Outcome, Setup

app = typer.Typer(
    help="Run a workload on a card, check its result, and report what translation cost.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Seed = Annotated[int, typer.Option(min=0, help="Seed of the random data.")]
Size = Annotated[str, typer.Option("--bytes", metavar="SIZE", help="Size of the data: 4096, 64K, 1MiB, ...")]


def _print(outcome: Outcome) -> None:
    from rich.markup import escape

    from godwit.report import figures_table
    from godwit.units import bytes_text

    console = stdout()
    card = outcome.card
    where = f"{card['device']} ({card['hash'][:12]}), {card['page_size']} pages"
    console.print(f"[bold]{escape(outcome.subject)}[/bold] on {escape(where)}", soft_wrap=True)
    counts = []
    for name, value in outcome.facts.items():
        if name.endswith("_bytes"):
            counts.append(f"{name.removesuffix('_bytes')} {bytes_text(value)}")
        elif isinstance(value, int):
            counts.append(f"{name} {value:,}")
    console.print("  ".join(counts), soft_wrap=True)
    console.print(figures_table("", outcome.figures, boxed=console.is_terminal))
    console.print("[green]checked[/green]: all results equal the reference computed on the host")
    made = {"plot": outcome.facts["plot"]} if "plot" in outcome.facts else {}
    for name, path in (outcome.facts.get("outputs", {}) | made).items():
        console.print(f"{name}: {path}", markup=False, soft_wrap=True)


def _print_sweep(sweep: Sweep) -> None:
    from rich.markup import escape

    from godwit.run.tlb_stress import points_table

    console = stdout()
    card = sweep.card
    where = f"{card['device']} ({card['hash'][:12]}), {card['page_size']} pages, {sweep.frames} frames"
    console.print(f"[bold]tlb-stress[/bold] on {escape(where)}", soft_wrap=True)
    console.print(points_table(sweep, boxed=console.is_terminal))
    console.print("[green]checked[/green]: everything read is what memory holds")
    if sweep.plot:
        console.print(f"plot: {sweep.plot}", markup=False, soft_wrap=True)


@app.command(
    epilog="Example: godwit run split --input flights.parquet --column dep_delay --where '> 15'"
    " --output-dir late",
)
@on_card(_print)
def split(
    path: Annotated[Path, typer.Option("--input", metavar="FILE.parquet", help="The table to split.")],
    column: Annotated[
        str, typer.Option(metavar="NAME", help="Its column to look at: int32, int64, float32 or float64.")
    ],
    where: Annotated[
        str,
        typer.Option(
            metavar="'OP NUMBER'", help="What matches: < <= > >= == != and a number, quoted: '> 15'."
        ),
    ],
    output_dir: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Where matches.parquet and rest.parquet go.", show_default="here"),
    ] = Path(),
    outputs: Annotated[
        str | None,
        typer.Option(
            metavar="heap|mapped|malloc",
            help="Outputs that are sized before and mapped, or, as well, ones that nobody sized, on the heap in hardware; malloc: and "
            "ones that the kernel allocates by itself.",
            show_default="heap, on a card that can have one",
        ),
    ] = None,
    rows: Annotated[
        bool | None,
        typer.Option(
            "--rows/--row-numbers",
            help="The kernel writes the column's rows themselves, values with validity, and the files hold that column; or row numbers, "
            "and the files hold all columns.",
            show_default="rows on the heap, else row numbers",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A utf8 column whose rows are split beside it, offsets, bytes and validity.",
        ),
    ] = None,
) -> Work:
    """Split a Parquet table in two by a predicate on one column, on the card.

    The kernel streams the column from device memory through a translated port and writes the rows that match, and those that do not,
    or their numbers, into outputs that grow where it writes. Nulls do not match; NaN compares as IEEE 754 says. The
    result is checked against pyarrow.compute.
    """

    def work(setup: Setup) -> Outcome:
        from godwit.errors import InputError
        from godwit.run import on_heap, split, split_rows

        given: dict[str, Any] = {
            "path": path,
            "column": column,
            "where": where,
            "output_dir": output_dir,
            "outputs": outputs,
        }
        needs_rows = "--text" if text is not None else "--outputs malloc" if outputs == "malloc" else None
        if needs_rows and rows is False:
            raise InputError(
                f"{needs_rows} does not go with --row-numbers",
                found="the kernel writes row numbers, and the files hold all columns",
                hint="leave one of them out",
            )
        # A kernel of the caller's is one of `split`, unless it is said to be the other.
        _, heap = on_heap.prepared(setup, outputs)
        if rows or needs_rows or (rows is None and heap and setup.kernel is None):
            return split_rows.run(setup, **given, text=text)
        return split.run(setup, **given)

    return work


@app.command(
    "split-chain",
    epilog="Example: godwit run split-chain --input flights.parquet --column dep_delay --where '> 15' --then-column arr_delay"
    " --then-where '> 30' --plot memory.png",
)
@on_card(_print, without=("kernel", "memory", "events", "residency"))
def split_chain(
    path: Annotated[Path, typer.Option("--input", metavar="FILE.parquet", help="The table: A.")],
    column: Annotated[
        str, typer.Option(metavar="NAME", help="The column to split it by: int32, int64, float32 or float64.")
    ],
    where: Annotated[
        str, typer.Option(metavar="'OP NUMBER'", help="What goes to B, the rest to C, quoted: '> 15'.")
    ],
    then_where: Annotated[str, typer.Option(metavar="'OP NUMBER'", help="What of B and C goes to D.")],
    then_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of that.", show_default="--column")
    ] = None,
    output_dir: Annotated[
        Path, typer.Option(metavar="DIR", help="Where then.parquet goes.", show_default="here")
    ] = Path(),
    granule: Annotated[
        str, typer.Option(metavar="4K|64K", help="Memory that comes together with a first touch.")
    ] = "4K",
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Plot the device memory taken over time.")
    ] = None,
) -> Work:
    """Split a table A into B and C, free it, and make D of B and C in the memory that A had.

    All of it is on the heap in hardware, where a buffer has memory where a kernel wrote; then once more in mapped buffers, each as large
    as it could become. The report shows the most device memory that was taken beside the size of A, and what was taken when.
    """

    def work(setup: Setup) -> Outcome:
        from godwit.run import split_chain

        return split_chain.run(
            setup,
            path=path,
            column=column,
            where=where,
            then_column=then_column,
            then_where=then_where,
            output_dir=output_dir,
            granule=granule,
            plot=plot,
        )

    return work


@app.command(
    "array-sum",
    epilog="Examples: godwit run array-sum --bytes 4MiB --page-size 64K;  "
    "godwit run array-sum --input flights.parquet --column flight",
)
@on_card(_print)
def array_sum(
    size: Size = "1MiB",
    dtype: Annotated[str, typer.Option(metavar="int32|int64", help="Element type of random data.")] = "int64",
    seed: Seed = 1,
    path: Annotated[
        Path | None,
        typer.Option("--input", metavar="FILE.parquet", help="Sum a column of this table instead."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column: int32 or int64; nulls count as 0.")
    ] = None,
) -> Work:
    """Sum integers on the card: random ones, or a column of a Parquet table."""
    if (path is None) != (column is None):
        raise typer.BadParameter("--input and --column go together")

    def work(setup: Setup) -> Outcome:
        from godwit.run import array_sum
        from godwit.units import parse_size

        return array_sum.run(
            setup, size_bytes=parse_size(size), dtype=dtype, seed=seed, path=path, column=column
        )

    return work


@app.command(epilog="Example: godwit run memcopy --bytes 256K --iterations 8 --config fletcher")
@on_card(_print)
def memcopy(
    size: Size = "1MiB",
    iterations: Annotated[int, typer.Option(min=1, help="How often the same copy is made.")] = 1,
    seed: Seed = 1,
) -> Work:
    """Copy random data within device memory, on the card."""

    def work(setup: Setup) -> Outcome:
        from godwit.run import memcopy
        from godwit.units import parse_size

        return memcopy.run(setup, size_bytes=parse_size(size), iterations=iterations, seed=seed)

    return work


@app.command(
    epilog="Example: godwit run hashjoin --build planes.parquet --probe flights.parquet --on plane --page-size 64K",
)
@on_card(_print)
def hashjoin(
    build: Annotated[
        Path, typer.Option(metavar="FILE.parquet", help="The table that the hash table is made of.")
    ],
    probe: Annotated[Path, typer.Option(metavar="FILE.parquet", help="The table whose rows are looked up.")],
    on: Annotated[str, typer.Option(metavar="COLUMN", help="The key: int32 or int64; nulls match nothing.")],
    probe_on: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Its name in the probed table, when it is another.", show_default="--on"
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="Write the joined table.")
    ] = None,
) -> Work:
    """Join two Parquet tables on an integer column, on the card.

    The kernel builds a chained hash table of one table in device memory and looks the rows of the other up in it;
    keys may repeat on both sides. The pairs of rows are checked against pyarrow's join.
    """

    def work(setup: Setup) -> Outcome:
        from godwit.run import hashjoin

        return hashjoin.run(setup, build=build, probe=probe, on=on, probe_on=probe_on, output=output)

    return work


@app.command(
    epilog="Example: godwit run stencil --input picture.png --iterations 16 --output smooth.png",
)
@on_card(_print)
def stencil(
    path: Annotated[
        Path, typer.Option("--input", metavar="IMAGE.png|FILE.npy", help="The picture: 8 bits a point.")
    ],
    iterations: Annotated[int, typer.Option(min=1, help="How often the stencil is applied.")],
    points: Annotated[int, typer.Option(metavar="5|9", help="Points of the stencil.")] = 9,
    mode: Annotated[
        str,
        typer.Option(
            metavar="accelerator|software",
            help="One launch makes all iterations, or the host copies tiles and launches for each.",
        ),
    ] = "accelerator",
    tile: Annotated[
        str, typer.Option(metavar="SIZE", help="Card memory for a tile, in mode software.")
    ] = "64K",
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.png|FILE.npy", help="Write the resulting picture.")
    ] = None,
) -> Work:
    """Smooth a picture with a 2D stencil of 5 or 9 points, on the card.

    Mode accelerator needs one launch and one interrupt for all iterations; in mode software the host does the steps: it cuts
    tiles, copies each to the card, launches, and copies back. The result is checked against numpy, point by point.
    """

    def work(setup: Setup) -> Outcome:
        from godwit.run import stencil
        from godwit.units import parse_size

        return stencil.run(
            setup,
            path=path,
            iterations=iterations,
            points=points,
            mode=mode,
            tile_bytes=parse_size(tile),
            output=output,
        )

    return work


@app.command(epilog="Example: godwit run sobel --input picture.png --memory shared --output edges.png")
@on_card(_print)
def sobel(
    path: Annotated[
        Path, typer.Option("--input", metavar="IMAGE.png|FILE.npy", help="The picture: 8 bits a point.")
    ],
    access: Annotated[
        str,
        typer.Option(
            metavar="early|late", help="Bursts of 4 KiB, 16 pages ahead; or of 64 bytes, shortly before."
        ),
    ] = "early",
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.png|FILE.npy", help="Write the gradient as a picture.")
    ] = None,
) -> Work:
    """Find the edges of a picture: its Sobel gradient, on the card.

    The kernel works on a byte a cycle, so that pages can move beside it. The result is checked against numpy, point by point.
    """

    def work(setup: Setup) -> Outcome:
        from godwit.run import sobel

        return sobel.run(setup, path=path, access=access, output=output)

    return work


@app.command(
    epilog="Example: godwit run bfs --input edges.parquet --source 0 --undirected --output levels.parquet",
)
@on_card(_print)
def bfs(
    path: Annotated[Path, typer.Option("--input", metavar="FILE.parquet", help="The graph: a row an edge.")],
    source: Annotated[int, typer.Option(metavar="VERTEX", help="The vertex to begin with.")],
    begins: Annotated[
        str, typer.Option("--from", metavar="COLUMN", help="Vertices that edges lead from: int32 or int64.")
    ] = "source",
    ends: Annotated[
        str, typer.Option("--to", metavar="COLUMN", help="Vertices that they lead to.")
    ] = "target",
    undirected: Annotated[bool, typer.Option("--undirected", help="Each edge leads both ways.")] = False,
    vertices: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="How many there are.", show_default="as many as the edges name"
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="Write each vertex's level.")
    ] = None,
) -> Work:
    """Search a graph breadth first, on the card: how many edges from one vertex to every other?

    The host makes compressed rows of the edges; the kernel follows them level by level, which loads memory with short reads at
    random places. The levels are checked against numpy.
    """

    def work(setup: Setup) -> Outcome:
        from godwit.run import bfs

        return bfs.run(
            setup,
            path=path,
            source=source,
            columns=(begins, ends),
            undirected=undirected,
            vertices=vertices,
            output=output,
        )

    return work


@app.command(epilog="Example: godwit run tree --nodes 65536 --lookups 1000 --config tapasco --memory shared")
@on_card(_print)
def tree(
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of the tree, 32 bytes each.")] = 65_536,
    lookups: Annotated[int, typer.Option(min=1, help="Keys that are looked up.")] = 1024,
    seed: Seed = 1,
) -> Work:
    """Look keys up in a binary search tree of nodes that point at each other, on the card.

    On shared memory the kernel follows the pointers of this program; for copies they are rewritten. Every value is checked against
    the host's.
    """

    def work(setup: Setup) -> Outcome:
        from godwit.run import tree

        return tree.run(setup, nodes=nodes, lookups=lookups, seed=seed)

    return work


@app.command(
    "tlb-stress",
    epilog="Example: godwit run tlb-stress --footprints 4K:16M --accesses 50000 --page-size 64K",
)
@on_card(_print_sweep, without=("kernel", "residency"), page_size="4K")
def tlb_stress(
    footprints: Annotated[
        str,
        typer.Option(metavar="FIRST:LAST", help="Sizes, each twice the one before; or one size."),
    ] = "4K:256M",
    pattern: Annotated[
        str, typer.Option(metavar="linear|random|both", help="How pages are visited.")
    ] = "both",
    accesses: Annotated[int, typer.Option(min=1, help="Reads measured at each footprint.")] = 1_000_000,
    frames: Annotated[
        str,
        typer.Option(
            metavar="contiguous|scattered",
            help="Where the pages are in physical memory: in one piece, or apart.",
        ),
    ] = "contiguous",
    outstanding: Annotated[
        int, typer.Option(min=1, max=64, help="Reads in flight; 1 waits for each as a simple processor does.")
    ] = 64,
    seed: Seed = 1,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Write the curves as a plot.")] = None,
) -> Work:
    """Touch pages 4 KiB apart over growing footprints, in order and at random: where does each TLB level end?

    Before each measurement the TLBs are emptied and warmed up with one pass over the footprint. What was read is
    checked against memory.
    """

    def work(setup: Setup) -> Sweep:
        from dataclasses import replace

        from godwit.run import tlb_stress

        sweep = tlb_stress.run(
            setup,
            sizes=tlb_stress.footprints(footprints),
            patterns=tlb_stress.PATTERNS if pattern == "both" else (pattern,),
            accesses=accesses,
            frames=frames,
            outstanding=outstanding,
            seed=seed,
        )
        if plot:
            tlb_stress.plot(sweep, plot)
            sweep = replace(sweep, plot=plot)
        return sweep

    return work
