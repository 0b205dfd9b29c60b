// SPDX-License-Identifier: Apache-2.0
//! A block of contiguous memory is a kernel's argument where it is: `cargo run --release -p godwit --example contiguous --
//! sim:default`.

use std::error::Error;

use godwit::{AllocOptions, Buffer, Card, OpenOptions, PagePolicy, PageSize, ShareOptions};
use godwit_cmt::{Block, Limits};

const COUNT: u64 = 200_000;

/// Sums them; the page-table walks of that.
fn sum(card: &Card, name: &str, values: &Buffer) -> Result<u64, Box<dyn Error>> {
    card.clear_counters()?;
    let done = card
        .kernel("array_sum")?
        .arg("values", values)
        .arg("count", COUNT)
        .arg("dtype", 1u32)
        .run()?;
    let sum = done.result("sum").unwrap_or_default();
    assert_eq!(sum, COUNT * (COUNT - 1) / 2);
    let (cycles, walks) = (done.cycles, card.counters()?.walker.walks);
    println!("{name:11}  sum {sum} in {cycles} cycles, {walks} page-table walks");
    Ok(walks)
}

/// The sum on pages and on the block; the walks of both.
pub fn run(device: &str) -> Result<[u64; 2], Box<dyn Error>> {
    let card = Card::open(device, OpenOptions::new())?;
    let context = card.context(None)?;
    // The process's pool lies in the card's memory.
    godwit_cmt::init(&card.cmt_config(16 << 20)?)?;
    let mut block = Block::new(8 * COUNT as usize, &Limits::default())?;
    for (index, number) in block.as_mut_slice().chunks_exact_mut(8).enumerate() {
        number.copy_from_slice(&(index as u64).to_le_bytes());
    }
    println!("one piece at physical {:#x}", block.extent().pa);

    let pages = AllocOptions::new().pages(PagePolicy::Only(PageSize::SIZE_4K));
    let paged = context.alloc(8 * COUNT, pages)?;
    paged.upload(0, block.as_slice())?;
    let shared = context.share(block, ShareOptions::new().max_page(PageSize::SIZE_4K))?;
    Ok([
        sum(&card, "pages", &paged)?,
        sum(&card, "range entry", &shared)?,
    ])
}

#[allow(dead_code, reason = "tests/contiguous.rs runs it without")]
fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::args().nth(1).unwrap_or("sim:default".into());
    run(&device).map(|_| ())
}
