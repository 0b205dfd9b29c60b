// SPDX-License-Identifier: Apache-2.0
//! What ports and host have found, against everything that was written.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use godwit_card::{PortAnswer, PortAnswers};
use godwit_core::Perm;

use super::history::{LINE, Line, Look};
use super::pages::{Page, WriteOf};
use super::{Access, InPlace, Mistake};
use crate::Report;

const OKAY: u32 = 0;

/// How an access ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    /// By its table.
    Refused,
    /// By the link, or by its table.
    Failed,
}

impl InPlace {
    /// Checks a batch, writes first: what is read may be of any of them. Returns how many accesses their tables have refused.
    pub(super) fn accesses(
        &mut self,
        plan: &[Access],
        answers: &PortAnswers,
        report: &mut Report,
    ) -> Result<RangeInclusive<u64>, String> {
        let mut of_token: Vec<Option<PortAnswer<'_>>> = vec![None; plan.len()];
        let mut last = HashMap::new();
        for answer in answers.iter() {
            let token = answer.token as usize;
            let (Some(access), Some(None)) = (plan.get(token), of_token.get(token)) else {
                return Err(format!("access {token} was answered unasked"));
            };
            let stream = (access.port, access.write, access.id);
            if last
                .insert(stream, token)
                .is_some_and(|before| before > token)
            {
                return Err(format!(
                    "access {token} was answered behind a later one of its ID: {access:x?}"
                ));
            }
            of_token[token] = Some(answer);
        }
        let (mut refused, mut failed) = (0, 0);
        let mut reads = Vec::new();
        for (token, (access, answer)) in plan.iter().zip(of_token).enumerate() {
            let Some(answer) = answer else {
                return Err(format!("access {token} was not answered: {access:x?}"));
            };
            let end = end(&self.pages[access.page], access, &answer)
                .map_err(|what| format!("access {token}: {what}: {access:x?} {answer:x?}"))?;
            match (end, access.write) {
                (End::Refused, _) => refused += 1,
                (End::Failed, false) => failed += 1,
                (End::Failed, true) => {
                    failed += 1;
                    self.wrote(access, &answer, true);
                }
                (End::Done, false) => reads.push((access, answer)),
                (End::Done, true) => {
                    report.writes += 1;
                    self.wrote(access, &answer, false);
                }
            }
        }
        report.reads += reads.len() as u64;
        *report.faults.entry("page fault".to_owned()).or_default() += refused;
        self.counts.link_errors += failed;
        reads.sort_by_key(|(_, answer)| answer.done_cycle);
        for (access, answer) in reads {
            if answer.data.len() != access.beats << access.size {
                return Err(format!(
                    "another burst was answered: {access:x?} {answer:x?}"
                ));
            }
            let look = Look {
                port: true,
                since: answer.accepted_cycle,
                until: answer.done_cycle,
            };
            check(
                &mut self.pages[access.page].lines,
                access.at,
                answer.data,
                look,
            )
            .map_err(|what| {
                format!(
                    "access {} read {what}: {access:x?}, accepted in {}, done in {}",
                    answer.token, answer.accepted_cycle, answer.done_cycle
                )
            })?;
        }
        Ok(refused..=refused + failed)
    }

    /// Takes a port's write down, a beat at a time.
    fn wrote(&mut self, access: &Access, answer: &PortAnswer<'_>, perhaps: bool) {
        let write = WriteOf {
            writer: access.port,
            order: answer.token,
            times: (answer.accepted_cycle, answer.done_cycle),
            perhaps,
        };
        let beat = 1 << access.size;
        let page = &mut self.pages[access.page];
        for (at, bytes) in (access.at..).step_by(beat).zip(access.data.chunks(beat)) {
            let forgets = self.mistake == Some(Mistake::ForgetByte) && (2..LINE).contains(&beat);
            page.wrote(&write, at, &bytes[..beat - usize::from(forgets)]);
        }
    }

    /// Checks what the host has found while the batch ran.
    pub(super) fn findings(&mut self) -> Result<(), String> {
        for finding in std::mem::take(&mut self.findings) {
            let page = &mut self.pages[finding.page];
            check(&mut page.lines, finding.at, &finding.bytes, finding.look).map_err(|what| {
                format!(
                    "{} the host found {what} in page {}, {:?}",
                    finding.after, finding.page, finding.look
                )
            })?;
        }
        Ok(())
    }
}

/// Bytes that were found in a page from `at` on.
fn check(lines: &mut [Line], at: usize, found: &[u8], look: Look) -> Result<(), String> {
    let (mut at, mut left) = (at, found);
    while !left.is_empty() {
        let (piece, rest) = left.split_at(left.len().min(LINE - at % LINE));
        let line = &mut lines[at / LINE];
        if let Err(byte) = line.check(at % LINE, piece, look) {
            return Err(format!(
                "{:#04x} at {:#x}; written was {}",
                piece[byte - at % LINE],
                at / LINE * LINE + byte,
                line.of_byte(byte)
            ));
        }
        (at, left) = (at + piece.len(), rest);
    }
    Ok(())
}

/// How an access ended, and whether it might.
fn end(page: &Page, access: &Access, answer: &PortAnswer<'_>) -> Result<End, String> {
    let (begin, end) = (answer.accepted_cycle, answer.done_cycle);
    let versions = &page.maps[access.map].versions;
    let mut seen = versions
        .iter()
        .filter(|version| version.written <= end && begin <= version.over);
    let allows = |perm: Option<Perm>| match perm {
        Some(perm) => !access.write || perm == Perm::ReadWrite,
        None => false,
    };
    if answer.resp == OKAY {
        return match seen.any(|version| allows(version.perm) && end <= version.over) {
            true => Ok(End::Done),
            false => Err(format!("done, although nothing allows it: {versions:?}")),
        };
    }
    let mut away = page.unplugged.iter();
    if away.any(|away| away.start <= end && begin <= away.end) {
        return Ok(End::Failed);
    }
    match seen.any(|version| !allows(version.perm)) {
        true => Ok(End::Refused),
        false => Err(format!("refused, although it was allowed: {versions:?}")),
    }
}
