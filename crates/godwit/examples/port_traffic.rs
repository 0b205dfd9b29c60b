// SPDX-License-Identifier: Apache-2.0
//! Random single-beat reads and writes from every external port of a card, to see what driving ports costs.
//!
//!     cargo run --release -p godwit --example port_traffic -- [DEVICE] [ACCESSES] [BATCH]
//!
//! Prints simulated cycles (the same everywhere) and where this machine's time went.

use std::error::Error;
use std::time::{Duration, Instant};

use godwit::{
    AllocOptions, Binding, Card, OpenOptions, PagePolicy, PageSize, PortAnswers, PortBatch,
};

const BUFFER_BYTES: u64 = 4 << 20;
const BEAT_LOG2: u8 = 6;

fn main() {
    if let Err(error) = run() {
        eprintln!("port_traffic: {error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let device = args.next().unwrap_or_else(|| "sim:cosim".into());
    let accesses: u64 = args.next().map_or(Ok(100_000), |text| text.parse())?;
    let batch_size: u64 = args.next().map_or(Ok(4096), |text| text.parse())?;

    let card = Card::open(&device, OpenOptions::new())?;
    let context = card.context(None)?;
    let pages = PagePolicy::Only(PageSize::SIZE_4K);
    let buffer = context.alloc(BUFFER_BYTES, AllocOptions::new().pages(pages))?;
    let ports: Vec<u32> = (0..)
        .map_while(|index| card.description().external_port(index))
        .collect();
    if ports.is_empty() {
        return Err(format!(
            "{device} has no external ports: build a card with card.external_ports"
        )
        .into());
    }
    for port in &ports {
        card.bind_port(*port, Binding::Translate(&context))?;
    }

    let (mut batch, mut answers) = (PortBatch::new(), PortAnswers::new());
    let mut spent = [Duration::ZERO; 3];
    let mut state = 1u64;
    let mut done = 0;
    let start = Instant::now();
    while done < accesses {
        batch.clear();
        for index in 0..batch_size.min(accesses - done) {
            // Knuth's MMIX generator; its upper bits are the random ones.
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let port = ports[(index % ports.len() as u64) as usize];
            let address =
                buffer.address() + (((state >> 20) % (BUFFER_BYTES >> BEAT_LOG2)) << BEAT_LOG2);
            match state >> 63 {
                0 => batch.read(port, index, 0, address, 1, BEAT_LOG2),
                _ => batch.write(
                    port,
                    index,
                    0,
                    address,
                    &[index as u8; 1 << BEAT_LOG2],
                    BEAT_LOG2,
                ),
            };
        }
        let mut timed = |step: usize, work: &mut dyn FnMut() -> Result<(), godwit::Error>| {
            let begin = Instant::now();
            let result = work();
            spent[step] += begin.elapsed();
            result
        };
        timed(0, &mut || card.port_submit(&batch))?;
        timed(1, &mut || card.port_drain(u64::MAX))?;
        timed(2, &mut || card.port_poll(&mut answers))?;
        if answers.len() != batch.len() || answers.iter().any(|answer| answer.resp != 0) {
            return Err("an access was not answered, or answered with an error".into());
        }
        done += batch.len() as u64;
    }
    let total = start.elapsed();
    let each = |time: Duration| time.as_nanos() as u64 / accesses;
    let cycles = card.stats()?.cycles;
    println!(
        "{accesses} accesses on {} ports in {cycles} cycles, {:.2} s",
        ports.len(),
        total.as_secs_f64()
    );
    println!(
        "  submit {} ns an access, poll {} ns, simulation {} ns",
        each(spent[0]),
        each(spent[2]),
        each(spent[1])
    );
    println!(
        "  {:.0} cycles/s, {:.0} accesses/s",
        cycles as f64 / total.as_secs_f64(),
        accesses as f64 / total.as_secs_f64()
    );
    Ok(())
}
