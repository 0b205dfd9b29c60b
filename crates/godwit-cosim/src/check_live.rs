// SPDX-License-Identifier: Apache-2.0
//! What accesses did while their tables changed, against every version of their pages that they could see.

use std::collections::HashMap;

use godwit_card::{MemEvent, PortAnswer, PortAnswers};
use godwit_core::Perm;

use crate::Report;
use crate::live::{Access, Live, Version};

const OKAY: u32 = 0;
const SLAVE_ERROR: u32 = 2;
const PAGE: u64 = 4096;

/// Checks a batch: every access answered once and in order, where it went, and what it brought. Returns how many were
/// refused.
pub fn accesses(
    live: &mut Live,
    plan: &[Access],
    answers: &PortAnswers,
    events: &[MemEvent],
    ports: usize,
    report: &mut Report,
) -> Result<u64, String> {
    let mut by_token: Vec<Option<PortAnswer<'_>>> = vec![None; plan.len()];
    for answer in answers.iter() {
        let place = by_token.get_mut(answer.token as usize);
        match place {
            Some(place @ None) => *place = Some(answer),
            _ => return Err(format!("access {} was answered unasked", answer.token)),
        }
    }
    // Accesses of one stream reach memory in the order in which they were sent, without the refused ones.
    let mut streams: HashMap<(u32, bool, u8), Vec<&MemEvent>> = HashMap::new();
    for event in events.iter().filter(|event| (event.port as usize) < ports) {
        let id = if event.write { 0 } else { event.id };
        streams
            .entry((event.port, event.write, id))
            .or_default()
            .push(event);
    }
    let mut next: HashMap<(u32, bool, u8), usize> = HashMap::new();
    let mut faults = 0;
    for (token, access) in plan.iter().enumerate() {
        let Some(answer) = by_token[token] else {
            return Err(format!("access {token} was not answered: {access:x?}"));
        };
        let event = if answer.resp == OKAY {
            let key = (
                access.port,
                access.write,
                if access.write { 0 } else { access.id },
            );
            let place = next.entry(key).or_default();
            let event = streams.get(&key).and_then(|list| list.get(*place));
            *place += 1;
            let Some(event) = event else {
                return Err(format!("access {token} did not reach memory: {access:x?}"));
            };
            Some(*event)
        } else {
            faults += 1;
            None
        };
        one(live, access, answer, event, report).map_err(|what| {
            format!("access {token}: {what}: {access:x?} {answer:x?} {event:x?}")
        })?;
    }
    for (key, list) in &streams {
        if next.get(key).copied().unwrap_or(0) != list.len() {
            return Err(format!(
                "of (port, write, ID) {key:?} more reached memory than was sent"
            ));
        }
    }
    Ok(faults)
}

/// One access against the versions of its page.
fn one(
    live: &mut Live,
    access: &Access,
    answer: PortAnswer<'_>,
    event: Option<&MemEvent>,
    report: &mut Report,
) -> Result<(), String> {
    let page = access.va / PAGE * PAGE;
    let known = &live.versions[&(access.space, page)];
    let seen: Vec<Version> = known
        .iter()
        .filter(|v| v.written <= answer.done_cycle && answer.accepted_cycle <= v.over)
        .copied()
        .collect();
    let allows = |version: &Version| match version.page {
        Some((pa, perm)) if !access.write || perm == Perm::ReadWrite => Some(pa),
        _ => None,
    };
    report.choices += u64::from(seen.len() > 1);
    let Some(event) = event else {
        if answer.resp != SLAVE_ERROR {
            return Err(format!("response {}", answer.resp));
        }
        if seen.iter().all(|version| allows(version).is_some()) {
            return Err(format!(
                "refused, although every version allows it: {known:x?}"
            ));
        }
        *report.faults.entry("page fault".to_owned()).or_default() += 1;
        return Ok(());
    };
    let used: Vec<&Version> = seen
        .iter()
        .filter(|version| allows(version) == Some(event.addr / PAGE * PAGE))
        .collect();
    let Some(over) = used.iter().map(|version| version.over).max() else {
        return Err(format!(
            "went where no version that it could see says: {known:x?}"
        ));
    };
    if event.addr % PAGE != access.va % PAGE || event.beats != access.beats {
        return Err("another burst reached memory".to_owned());
    }
    if answer.done_cycle > over {
        return Err(format!(
            "still under way when its translation was over: {known:x?}"
        ));
    }
    report.old += u64::from(over != u64::MAX);
    if access.write {
        let mut line = [0; 64];
        line.copy_from_slice(&access.data);
        live.lines.insert(event.addr, line);
        live.written.insert(event.addr);
        report.writes += 1;
        return Ok(());
    }
    report.reads += 1;
    for (at, bytes) in (event.addr..).step_by(64).zip(answer.data.chunks_exact(64)) {
        if live.lines.get(&at).is_none_or(|line| line[..] != *bytes) {
            return Err(format!("wrong data of {at:#x}"));
        }
    }
    Ok(())
}
