// SPDX-License-Identifier: Apache-2.0
//! What the card did against what it had to do.

use std::collections::{HashMap, HashSet};

use godwit_card::{CardError, MemEvent, PortAnswers};

use crate::CosimError;
use crate::traffic::{Access, Outcome, Plan};
use crate::world::{FaultRecord, World};

const OKAY: u32 = 0;
const SLAVE_ERROR: u32 = 2;

/// Every access is answered once, with the right response and data, in order within its port, direction and ID.
pub fn answers(plan: &Plan, answers: &PortAnswers) -> Result<(), String> {
    if answers.len() != plan.accesses.len() {
        let answered: HashSet<usize> = answers.iter().map(|answer| answer.token as usize).collect();
        let mut missing = (0..plan.accesses.len()).filter(|token| !answered.contains(token));
        let first = missing.next().map(|token| &plan.accesses[token]);
        return Err(format!(
            "{} answers to {} accesses; the first without one: {first:x?}",
            answers.len(),
            plan.accesses.len()
        ));
    }
    let mut last = HashMap::new();
    let mut seen = vec![false; plan.accesses.len()];
    for answer in answers.iter() {
        let token = answer.token as usize;
        let Some(access) = plan.accesses.get(token) else {
            return Err(format!("an answer to access {token}, which was never sent"));
        };
        if std::mem::replace(&mut seen[token], true) {
            return Err(format!("access {token} was answered twice: {access:x?}"));
        }
        let stream = (access.port, access.write, access.id);
        if let Some(before) = last.insert(stream, token)
            && before > token
        {
            return Err(format!(
                "access {token} was answered after {before}, which has its ID: {access:x?}"
            ));
        }
        check_answer(access, answer.resp, answer.data)
            .map_err(|what| format!("access {token}: {what}: {access:x?}"))?;
    }
    Ok(())
}

fn check_answer(access: &Access, resp: u32, found: &[u8]) -> Result<(), String> {
    match &access.outcome {
        Outcome::Fault { .. } if resp == SLAVE_ERROR => Ok(()),
        Outcome::Fault { cause } => Err(format!(
            "response {resp}, expected a fault with cause {cause}"
        )),
        Outcome::Memory { .. } if resp != OKAY => Err(format!("response {resp}, expected OKAY")),
        Outcome::Memory { data, .. } if !access.write && found != data => {
            let at = found.iter().zip(data).position(|(a, b)| a != b);
            Err(format!("wrong data, first at byte {at:?}"))
        }
        Outcome::Memory { .. } => Ok(()),
    }
}

/// Where hardware sets A and D, the pages of all allowed accesses have them.
pub fn bits(plan: &Plan, world: &World) -> Result<Result<(), String>, CosimError> {
    for access in &plan.accesses {
        let Some(number) = world.ports[access.port as usize] else {
            continue;
        };
        let space = &world.spaces[number];
        if !space.tracks || !matches!(access.outcome, Outcome::Memory { .. }) {
            continue;
        }
        let state = space.table.state(access.va)?;
        if !state.accessed || (access.write && !state.dirty) {
            return Ok(Err(format!("{access:x?} left its page as {state:?}")));
        }
    }
    Ok(Ok(()))
}

/// Exactly the allowed accesses reach memory, each at the oracle's address: reads in order within an ID, writes in order.
pub fn addresses(plan: &Plan, events: &[MemEvent], ports: usize) -> Result<(), String> {
    let mut streams: HashMap<(u32, bool, u8), Vec<&Access>> = HashMap::new();
    for access in &plan.accesses {
        if matches!(access.outcome, Outcome::Memory { .. }) {
            streams
                .entry(stream(access.port, access.write, access.id))
                .or_default()
                .push(access);
        }
    }
    let mut taken: HashMap<(u32, bool, u8), usize> = HashMap::new();
    for event in events.iter().filter(|event| (event.port as usize) < ports) {
        let key = stream(event.port, event.write, event.id);
        let next = taken.entry(key).or_default();
        let Some(access) = streams.get(&key).and_then(|list| list.get(*next)) else {
            return Err(format!(
                "an access reached memory that nobody sent: {event:x?}"
            ));
        };
        *next += 1;
        let Outcome::Memory { pa, .. } = access.outcome else {
            continue;
        };
        let same = event.addr == pa
            && event.beats == access.beats
            && event.size == access.size
            && event.id == access.id;
        if !same {
            return Err(format!(
                "expected {access:x?} at {pa:#x}, memory saw {event:x?}"
            ));
        }
    }
    for (key, list) in &streams {
        let reached = taken.get(key).copied().unwrap_or(0);
        if reached != list.len() {
            return Err(format!(
                "{} accesses of (port, write, ID) {key:?} were allowed, {reached} reached memory",
                list.len()
            ));
        }
    }
    Ok(())
}

/// Reads keep their order within an ID, writes among all IDs of a port.
fn stream(port: u32, write: bool, id: u8) -> (u32, bool, u8) {
    (port, write, if write { 0 } else { id })
}

/// The card counted as many faults as there were, and recorded one of them.
pub fn faults(plan: &Plan, world: &mut World) -> Result<Result<(), String>, CardError> {
    let (record, count) = world.take_faults()?;
    let expected = plan.faults();
    if count != expected {
        return Ok(Err(format!(
            "{expected} accesses were refused, the card counted {count}"
        )));
    }
    let known = |access: &Access| match access.outcome {
        Outcome::Fault { cause } => {
            record
                == FaultRecord {
                    cause,
                    write: access.write,
                    port: access.port,
                    id: u32::from(access.id),
                    va: access.va,
                }
        }
        Outcome::Memory { .. } => false,
    };
    if expected > 0 && !plan.accesses.iter().any(known) {
        return Ok(Err(format!(
            "the fault record is none of the refused accesses: {record:x?}"
        )));
    }
    Ok(Ok(()))
}
