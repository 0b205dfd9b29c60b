// SPDX-License-Identifier: Apache-2.0
//! What accesses did, against what their pages were meanwhile.

use godwit_card::{PortAnswer, PortAnswers};

use super::model::{LINE, PAGE};
use super::{Access, HeapWorld};
use crate::Report;

const OKAY: u32 = 0;
const SLAVE_ERROR: u32 = 2;

impl HeapWorld {
    /// Checks a batch, writes first: no line of a batch is written and read. Returns how many were refused.
    pub(super) fn accesses(
        &mut self,
        plan: &[Access],
        answers: &PortAnswers,
        report: &mut Report,
    ) -> Result<u64, String> {
        let mut answered = vec![false; plan.len()];
        let mut refused = 0;
        for answer in answers.iter() {
            let token = answer.token as usize;
            let (Some(access), Some(false)) = (plan.get(token), answered.get(token)) else {
                return Err(format!("access {token} was answered unasked"));
            };
            answered[token] = true;
            let done = self
                .one(access, &answer)
                .map_err(|what| format!("access {token}: {what}: {access:x?} {answer:x?}"))?;
            match (done, access.write) {
                (false, _) => refused += 1,
                (true, true) => report.writes += 1,
                (true, false) => report.reads += 1,
            }
        }
        match answered.iter().position(|answered| !answered) {
            Some(token) => Err(format!(
                "access {token} was not answered: {:x?}",
                plan[token]
            )),
            None => {
                *report.faults.entry("page fault".to_owned()).or_default() += refused;
                Ok(refused)
            }
        }
    }

    /// Whether it was done.
    fn one(&mut self, access: &Access, answer: &PortAnswer<'_>) -> Result<bool, String> {
        let page = access.va / PAGE * PAGE;
        let cycles = (answer.accepted_cycle, answer.done_cycle);
        let choice = self
            .model
            .choice(access.context, page, access.write, cycles);
        let used = &choice.generations;
        if choice.refused && !used.is_empty() {
            self.counts.choices += 1;
        }
        match answer.resp {
            SLAVE_ERROR if choice.refused => return Ok(false),
            SLAVE_ERROR => return Err("refused, although it was there all the time".to_owned()),
            OKAY if used.is_empty() => return Err("done, although nothing is there".to_owned()),
            OKAY => {}
            other => return Err(format!("response {other}")),
        }
        let lines = (access.va..).step_by(LINE as usize);
        if access.write {
            for (va, bytes) in lines.zip(access.data.chunks_exact(LINE as usize)) {
                let mut line = [0; LINE as usize];
                line.copy_from_slice(bytes);
                self.model.wrote(used, va, line);
            }
            return Ok(true);
        }
        for (va, found) in lines.zip(answer.data.chunks_exact(LINE as usize)) {
            if !self.model.may_hold(used, va, found) {
                return Err(format!("wrong data of {va:#x}, generations {used:?}"));
            }
        }
        Ok(true)
    }
}
