// SPDX-License-Identifier: Apache-2.0
//! Pages that another thread brings: those of a context that kernels ask for and no reservation has. The clock stands until it has answered,
//! but for what it lets pass itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::State;
use crate::Error;
use crate::hardware::command::Command;
use crate::hardware::page_queue::{PageEnd, PageRequest};
use crate::svm::{Answer, Refused};

/// Brings pages that no reservation has, on a thread of its own.
pub(crate) trait PageServer: Send + Sync {
    /// Has these brought, and answered with [`State::answer_pages`], all of them; does not wait for that.
    /// They came at this virtual time of the card.
    fn serve(&self, requests: Vec<PageRequest>, now_ps: u64);
}

impl State {
    /// Has pages of a context that no reservation has brought by `server`, from now on.
    pub fn serve_by(
        &mut self,
        id: usize,
        serial: u64,
        server: Arc<dyn PageServer>,
    ) -> Result<(), Error> {
        self.ask_for_pages(id, serial)?;
        if let Some(demands) = &mut self.demands {
            // All of them are answered, however long work for others takes that lets the clock run.
            demands.queue.wait_for_ever(self.device.as_mut())?;
            demands.patient = true;
        }
        self.context(id, serial)?.server = Some(server);
        Ok(())
    }

    /// Whether pages are awaited that another thread brings.
    pub fn awaits_pages(&self) -> bool {
        let mut contexts = self.contexts.iter().flatten();
        contexts.any(|context| context.serving > 0)
    }

    /// Gives requests to those who serve them; returns the others.
    pub(super) fn hand_on(
        &mut self,
        requests: Vec<PageRequest>,
    ) -> Result<Vec<PageRequest>, Error> {
        let now_ps = self.device.stats()?.time_ps;
        let mut theirs: BTreeMap<u32, Vec<PageRequest>> = BTreeMap::new();
        let (served, own): (Vec<_>, Vec<_>) = requests
            .into_iter()
            .partition(|request| self.is_served(request));
        for request in served {
            theirs.entry(request.context).or_default().push(request);
        }
        for (id, requests) in theirs {
            if let Some(Some(context)) = self.contexts.get_mut(id as usize)
                && let Some(server) = &context.server
            {
                let names = |request: &PageRequest| (request.va, request.group);
                context.awaited.extend(requests.iter().map(names));
                context.serving += 1;
                server.serve(requests, now_ps);
            }
        }
        Ok(own)
    }

    fn is_served(&self, request: &PageRequest) -> bool {
        let Some(Some(context)) = self.contexts.get(request.context as usize) else {
            return false;
        };
        let around = context.demands.range(..=request.va).next_back();
        let reserved = around.is_some_and(|(start, state)| request.va - start < state.demand.len);
        context.server.is_some() && !reserved
    }

    /// Kernels ask for pages that are on their way.
    pub(super) fn note_passing(&mut self, id: usize, requests: &[PageRequest]) {
        if let Some(Some(context)) = self.contexts.get_mut(id) {
            let names = requests.iter().map(|request| (request.va, request.group));
            context.passing.extend(names);
        }
    }

    /// Pages `came`, now or in a turn before, and others are still on their way (`coming` as for [`serve_between`](Self::serve_between)): kernels that
    /// have run into them since go on, too.
    pub fn some_came(
        &mut self,
        id: usize,
        serial: u64,
        came: &[(u64, u64)],
        coming: impl Fn(u64, bool) -> bool,
    ) -> Result<(), Error> {
        if self.context(id, serial)?.asks {
            self.serve_between(id, coming)?;
        }
        for (va, len) in came {
            self.pages_came(id, serial, *va, *len)?;
        }
        Ok(())
    }

    /// No more pages are on their way, whether all came or not: who still waits for one asks again.
    pub fn none_comes(&mut self, id: usize, serial: u64) -> Result<(), Error> {
        let left = std::mem::take(&mut self.context(id, serial)?.passing);
        self.answer_there(id, left)
    }

    fn answer_there(&mut self, id: usize, pages: Vec<(u64, u32)>) -> Result<(), Error> {
        let there =
            |(_, group): (u64, u32)| Command::respond(id as u32, group, PageEnd::There.code());
        let commands: Vec<Command> = pages.into_iter().map(there).collect();
        if commands.is_empty() {
            return Ok(());
        }
        self.queue.respond(self.device.as_mut(), &commands)
    }

    /// Pages of a range were mapped: accesses that wait for them go on, before all of what was asked for is there.
    fn pages_came(&mut self, id: usize, serial: u64, va: u64, len: u64) -> Result<(), Error> {
        let context = self.context(id, serial)?;
        let mut come = Vec::new();
        for waiting in [&mut context.awaited, &mut context.passing] {
            waiting.retain(|page| {
                let here = (va..va + len).contains(&page.0);
                if here {
                    come.push(*page);
                }
                !here
            });
        }
        self.answer_there(id, come)
    }

    /// Answers all pages of a list that was handed on.
    pub fn answer_pages(
        &mut self,
        id: usize,
        serial: u64,
        answers: Vec<Answer>,
    ) -> Result<(), Error> {
        let Ok(context) = self.context(id, serial) else {
            // Its end has answered them.
            return Ok(());
        };
        context.serving = context.serving.saturating_sub(1);
        let mut commands = Vec::new();
        for (asked, answer) in answers {
            let place = (asked.va, asked.group);
            let awaited = &mut self.context(id, serial)?.awaited;
            let Some(at) = awaited.iter().position(|awaited| *awaited == place) else {
                continue;
            };
            awaited.swap_remove(at);
            let end = match answer {
                Ok(()) => PageEnd::There,
                Err(Refused { va, why }) => {
                    if let Some(demands) = &mut self.demands {
                        demands.refused(id as u32, va, why);
                    }
                    PageEnd::Invalid
                }
            };
            commands.push(Command::respond(id as u32, asked.group, end.code()));
        }
        if !commands.is_empty() {
            self.queue.respond(self.device.as_mut(), &commands)?;
        }
        self.lines_go_on()
    }
}
