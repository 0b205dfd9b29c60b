// SPDX-License-Identifier: Apache-2.0
//! `godwit-vfio --socket PATH`: a simulated card as a PCIe device of a virtual machine.

use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use godwit_card::{OpenOptions, SimCard};
use godwit_core::layout;
use godwit_vfio::{Liar, PciCard, Served, Slot, serve};
use serde_json::json;

/// Serves a simulated card to one virtual machine over the vfio-user protocol.
#[derive(Parser)]
#[command(
    version,
    after_help = "QEMU 10.1 or later takes the card with\n  \
                  -object memory-backend-memfd,id=m,size=1G,share=on -machine q35,memory-backend=m\n  \
                  -device '{\"driver\":\"vfio-user-pci\",\"socket\":{\"path\":\"PATH\",\"type\":\"unix\"}}'\n\
                  Ends when the virtual machine does."
)]
struct Args {
    /// Card to serve: `sim:NAME` of a built card, or `sim:/path/to/libgw_card.so`
    #[arg(long, default_value = "sim:default")]
    card: String,
    /// Unix socket to listen on; made here, removed at the end
    #[arg(long)]
    socket: PathBuf,
    /// Options of the card as JSON, such as '{"waves":"card.fst"}'
    #[arg(long, default_value = "{}")]
    options: String,
    /// Read commands from standard input, a line each: `remove` pulls the card out of its slot
    #[arg(long)]
    control: bool,
    /// With `--control`: `insert` puts a new card into the slot. Device memory is not mapped by the virtual machine then, and slower
    #[arg(long, requires = "control")]
    spares: bool,
    /// With `--control`: `lie N SEED` has one in N words that are read of the card be wrong, and queues and interrupts made up, until
    /// `stop lying`. For tests of drivers; device memory is slower, as with --spares
    #[arg(long, requires = "control")]
    lies: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// The socket's path, removed when it is dropped.
struct Listening(PathBuf);

impl Drop for Listening {
    fn drop(&mut self) {
        // Somebody else may have removed it.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(served) => {
            report(&served, args.json);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<Served, Box<dyn std::error::Error>> {
    // A virtual machine may be slow, or stopped: only the card knows no progress, and that is not its fault.
    let options = OpenOptions::from_json(&args.options)?
        .set("watchdog_cycles", 0)
        .require_spec(layout::SPEC_HASH);
    let mut card = PciCard::new(Box::new(SimCard::open(&args.card, &options)?))?;
    if args.spares {
        let name = args.card.clone();
        card = card.with_spares(Box::new(move || {
            Ok(Box::new(SimCard::open(&name, &options)?))
        }));
    }
    let mut liar = None;
    if args.lies {
        let (lying, has_it_lie) = card.with_lies();
        card = lying;
        liar = Some(has_it_lie);
    }
    if args.control {
        let (slot, spares) = (card.slot(), args.spares);
        std::thread::spawn(move || obey(&slot, spares, liar.as_ref()));
    }
    let listener = listen(&args.socket)?;
    let listening = Listening(args.socket.clone());
    if !args.json {
        println!("card {} listens on {}", args.card, args.socket.display());
        io::stdout().flush()?;
    }
    let (client, _) = listener.accept()?;
    // One client a card: who comes later is to be told so, not to wait.
    drop((listener, listening));
    Ok(serve(client, &mut card)?)
}

/// Does what standard input says, until it ends.
fn obey(slot: &Slot, spares: bool, liar: Option<&Liar>) {
    for line in io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), liar) {
            (["remove"], _) => slot.remove(),
            (["insert"], _) if spares => slot.insert(),
            (["stop", "lying"], Some(liar)) => liar.lie(0, 0),
            (["lie", one_in, seed], Some(liar)) => match (one_in.parse(), seed.parse()) {
                (Ok(one_in), Ok(seed)) => liar.lie(one_in, seed),
                _ => eprintln!("`{line}`: N and SEED are numbers of 32 bits"),
            },
            _ => eprintln!(
                "`{line}` is no command: there is `remove`, with --spares `insert`, and with --lies `lie N SEED` and `stop lying`"
            ),
        }
    }
}

/// Listens on a path; a socket that a dead server left there is replaced.
fn listen(path: &Path) -> Result<UnixListener, String> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "{} is there already, and is no socket of a dead server: choose another path for --socket",
            path.display()
        ),
        _ => format!("no socket can be made at {}: {error}", path.display()),
    };
    let first = UnixListener::bind(path);
    match first {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_dead(path) => {
            std::fs::remove_file(path).map_err(failed)?;
            UnixListener::bind(path).map_err(failed)
        }
        other => other.map_err(failed),
    }
}

/// Connecting to an ordinary file is refused, too.
fn is_dead(path: &Path) -> bool {
    let is_socket = path
        .metadata()
        .is_ok_and(|found| found.file_type().is_socket());
    is_socket
        && UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn report(served: &Served, as_json: bool) {
    if as_json {
        println!("{}", json!(served));
        return;
    }
    let Served {
        messages,
        register_accesses,
        interrupts,
        resets,
        cycles,
        ..
    } = served;
    println!(
        "the virtual machine has gone: {messages} messages, {register_accesses} register accesses, {interrupts} interrupts, \
         {resets} resets, {cycles} cycles"
    );
    if served.errors + served.bus_errors > 0 {
        println!(
            "{} requests were refused, {} register accesses went nowhere",
            served.errors, served.bus_errors
        );
    }
}
