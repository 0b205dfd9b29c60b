// SPDX-License-Identifier: Apache-2.0
//! Kernels work on vectors of the program, where they are: splits one by a comparison, then sums what matches. `cargo run --release
//! -p godwit --example plain_pointers -- sim:default`, or `/dev/godwit0`.

use std::error::Error;

use godwit::{Card, Context, OpenOptions};

const ROWS: u32 = 20_000;
const LIMIT: f64 = 15.0;
/// Arguments of the kernels: kernels/split/split.toml, kernels/array_sum/array_sum.toml.
const INT64: u32 = 1;
const FLOAT64: u32 = 3;
const GREATER: u32 = 0;

/// Rows above the limit, found on the card.
fn split(card: &Card, context: &Context, values: &[f64]) -> Result<Vec<u32>, Box<dyn Error>> {
    let (mut matches, mut rest) = (vec![0u32; values.len()], vec![0u32; values.len()]);
    let done = card
        .kernel("split")?
        .context(context)
        .arg("values", values)
        .arg("validity", godwit::Value::Null)
        .arg("rows", values.len())
        .arg("offset", 0u64)
        .arg("dtype", FLOAT64)
        .arg("op", GREATER)
        .arg("constant", LIMIT.to_bits())
        .arg("matches", &mut matches[..])
        .arg("rest", &mut rest[..])
        .run()?;
    matches.truncate(done.result("match_count").unwrap_or_default() as usize);
    Ok(matches)
}

fn sum(card: &Card, context: &Context, numbers: &[i64]) -> Result<i64, Box<dyn Error>> {
    let done = card
        .kernel("array_sum")?
        .context(context)
        .arg("values", numbers)
        .arg("count", numbers.len())
        .arg("dtype", INT64)
        .run()?;
    Ok(done.result("sum").unwrap_or_default() as i64)
}

fn said(right: bool) -> &'static str {
    if right { "right" } else { "WRONG" }
}

/// Whether both kernels found what the program finds itself.
pub fn run(device: &str) -> Result<bool, Box<dyn Error>> {
    let card = Card::open(device, OpenOptions::new())?;
    let context = card.context(None)?;
    context.share_process()?;

    let row = |row: u32| (u64::from(row) * 2_654_435_761 % 1000) as f64 / 10.0;
    let values: Vec<f64> = (0..ROWS).map(row).collect();
    let expected: Vec<u32> = (0..ROWS).filter(|at| row(*at) > LIMIT).collect();
    let matches = split(&card, &context, &values)?;
    let is_split = matches == expected;
    let count = matches.len();
    println!(
        "split: {count} of {ROWS} rows are greater than {LIMIT}, {}",
        said(is_split)
    );

    let whole: Vec<i64> = expected.iter().map(|at| row(*at) as i64).collect();
    let found = sum(&card, &context, &whole)?;
    let is_sum = found == whole.iter().sum::<i64>();
    println!("array_sum: {found}, {}", said(is_sum));
    Ok(is_split && is_sum)
}

#[allow(dead_code, reason = "tests/plain_pointers.rs runs it without")]
fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::args().nth(1).unwrap_or("sim:default".into());
    if run(&device)? {
        Ok(())
    } else {
        Err("the card did not find what the program did".into())
    }
}
