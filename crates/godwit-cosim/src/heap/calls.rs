// SPDX-License-Identifier: Apache-2.0
//! Commands of the host and, at the same time, of a kernel by its streams: each waits for its own answers only.

use std::collections::HashSet;

use godwit::{HeapRefusal, layout};
use godwit_card::{CardError, Description, Device, SimCard};
use rand::Rng;

use super::model::{Command, Given};
use super::registers::{self, Kept};
use super::{CONTEXTS, Found, HeapWorld};
use crate::registers::bind;
use crate::{CosimError, Random};

/// Commands that the kernel takes at once.
const CALLS: usize = 8;
/// Rounds from one binding of its port to the next.
const BOUND_ROUNDS: u32 = 24;
/// Cycles in which it is done.
const KERNEL_CYCLES: u64 = 1_000_000;

const BASE: u64 = layout::REGISTER_SPACE_KERNEL_BASE as u64;
const CONTROL: u64 = BASE + layout::HLS_AP_CTRL as u64;

/// The kernel `heap_calls`: registers of its control block.
pub struct Caller {
    pub port: u32,
    count: u64,
    rest: u64,
    /// Of each command: pointer, size, how; its result and its answer.
    calls: Vec<[u64; 5]>,
    kept: Kept,
}

impl Caller {
    /// It, if the card has it and nothing else.
    pub fn of(about: &Description) -> Option<Self> {
        let [kernel] = about.kernels.as_slice() else {
            return None;
        };
        let at = |name: &str| {
            let found = kernel.args.iter().find(|arg| arg.name == name);
            found.map(|arg| arg.offset)
        };
        let calls = (0..CALLS).map(|number| {
            let names = ["pointer", "size", "how", "result", "answer"];
            let mut offsets = [0; 5];
            for (offset, name) in offsets.iter_mut().zip(names) {
                *offset = at(&format!("{name}{number}"))?;
            }
            Some(offsets)
        });
        Some(Self {
            port: kernel.port,
            count: at("count")?,
            rest: at("rest")?,
            calls: calls.collect::<Option<_>>()?,
            kept: Kept::new(BASE),
        })
    }

    /// What a command does not have stays what it was: the heap must not look at it.
    fn start(&mut self, card: &mut SimCard, commands: &[Command]) -> Result<(), CardError> {
        self.kept.write(card, self.count, commands.len() as u32)?;
        self.kept.write(card, self.rest, 0)?;
        for (call, command) in self.calls.iter().zip(commands) {
            let (pointer, size, how) = registers::words(*command);
            for (offset, value) in call.iter().zip([pointer, size, Some(how.into())]) {
                if let Some(value) = value {
                    self.kept.write64(card, *offset, value)?;
                }
            }
        }
        card.reg_write(CONTROL, layout::HLS_CTRL_START as u32)
    }

    /// Waits until it is done, and reads what it was told.
    fn answers(
        &self,
        card: &mut SimCard,
        context: usize,
        commands: &[Command],
    ) -> Result<Result<Vec<Given>, String>, CosimError> {
        let since = card.stats()?.cycles;
        while card.reg_read(CONTROL)? & layout::HLS_CTRL_DONE as u32 == 0 {
            if card.stats()?.cycles - since > KERNEL_CYCLES {
                return Ok(Err("the kernel's commands are not answered".to_owned()));
            }
        }
        let mut given = Vec::new();
        for (call, command) in self.calls.iter().zip(commands) {
            let [.., result, answer] = *call;
            let status = card.reg_read(BASE + answer)?;
            let result = match command {
                Command::Malloc { .. } if status == layout::HEAP_OK => {
                    let low = card.reg_read(BASE + result)?;
                    u64::from(card.reg_read(BASE + result + 4)?) << 32 | u64::from(low)
                }
                _ => 0,
            };
            match registers::told(context, *command, (status, result)) {
                Ok(answer) => given.push(answer),
                Err(what) => return Ok(Err(what)),
            }
        }
        Ok(Ok(given))
    }
}

impl HeapWorld {
    /// Commands of the kernel, of the host, or of both at once; in the name of any context but one that ends.
    pub(super) fn calls(&mut self, random: &mut Random) -> Found {
        if random.random_ratio(1, BOUND_ROUNDS) || !self.may_call(self.kernel_context) {
            self.bind_kernel(random)?;
        }
        self.pass()?;
        let kernel = self.kernel_context;
        let mut named = HashSet::new();
        let asks = self.may_call(kernel) && random.random_ratio(7, 8);
        let mut calls = Vec::new();
        if asks {
            let count = match random.random_ratio(3, 4) {
                true => CALLS,
                false => random.random_range(1..=CALLS),
            };
            self.some(kernel, count, &mut named, random, &mut calls)?;
        }
        let mut own: Vec<(usize, Command)> = Vec::new();
        for _ in 0..random.random_range(u32::from(!asks)..=3) {
            let context = random.random_range(self.over.min(CONTEXTS - 1)..CONTEXTS);
            if self.ends(context) || !self.back(context, random)? {
                continue;
            }
            let mut commands = Vec::new();
            self.some(context, 1, &mut named, random, &mut commands)?;
            own.extend(commands.into_iter().map(|command| (context, command)));
        }
        self.give(&calls, &own)
    }

    fn ends(&self, context: usize) -> bool {
        matches!(self.ending, Some((number, _)) if number == context)
    }

    /// Whether a kernel may ask in the name of a context.
    fn may_call(&self, context: usize) -> bool {
        self.on[context] && context >= self.over && !self.ends(context)
    }

    /// Gives the kernel's port to a context; now and then it is off instead.
    pub(super) fn bind_kernel(&mut self, random: &mut Random) -> Result<(), CardError> {
        self.kernel_context = random.random_range(0..CONTEXTS);
        self.kernel_bound = random.random_ratio(15, 16);
        let bound = self.kernel_bound.then_some(self.kernel_context);
        bind(&mut self.card, self.caller.port, bound)
    }

    /// Gives these, and holds the answers against the rules.
    fn give(&mut self, calls: &[Command], own: &[(usize, Command)]) -> Found {
        let commands = calls.iter().chain(own.iter().map(|(_, command)| command));
        let strict = self.strict_of(commands);
        self.look(&strict, true)?;
        let kernel = self.kernel_context;
        let begin = self.now()?;
        if !calls.is_empty() {
            self.caller.start(&mut self.card, calls)?;
        }
        let mut queues = vec![Vec::new(), Vec::new()];
        for (context, command) in own {
            match registers::command(&mut self.card, &mut self.kept, *context, *command)? {
                Ok(given) => queues[1].push(given),
                Err(what) => return Ok(Err(format!("{command:x?}: {what}"))),
            }
        }
        if !calls.is_empty() {
            queues[0] = match self.caller.answers(&mut self.card, kernel, calls)? {
                Ok(given) => given,
                Err(what) => return Ok(Err(format!("{calls:x?}: {what}"))),
            };
        }
        let end = self.now()?;
        self.look(&strict, false)?;
        for given in queues.iter().flatten() {
            self.tell(given);
            self.keep_pace(given);
        }
        self.counts.by_stream += queues[0].len() as u64;
        if !self.kernel_bound {
            let stranger = queues[0]
                .iter()
                .find(|given| given.answer != Err(HeapRefusal::Argument));
            if let Some(given) = stranger {
                return Ok(Err(format!("{given:x?} at a port that is off")));
            }
            queues[0].clear();
        }
        Ok(self.model.explain(&queues, (begin, end)))
    }

    /// A command of the host, with nothing else that changes what it is told.
    pub(super) fn exactly(
        &mut self,
        context: usize,
        command: Command,
    ) -> Result<Result<Given, String>, CosimError> {
        let begin = self.now()?;
        let given = match registers::command(&mut self.card, &mut self.kept, context, command)? {
            Ok(given) => given,
            Err(what) => return Ok(Err(format!("{command:x?}: {what}"))),
        };
        let end = self.now()?;
        self.tell(&given);
        let explained = self.model.explain(&[vec![given]], (begin, end));
        Ok(explained.map(|()| given))
    }

    /// One command of the host under traffic.
    pub(super) fn command(&mut self, context: usize, command: Command) -> Found {
        self.give(&[], &[(context, command)])
    }

    fn tell(&mut self, given: &Given) {
        let name = match (&given.answer, given.command) {
            (Err(refusal), _) => format!("{refusal:?}"),
            (Ok(_), Command::Malloc { .. }) => "malloc".to_owned(),
            (Ok(_), Command::Realloc { .. }) => "realloc".to_owned(),
            (Ok(_), Command::Free { .. }) => "free".to_owned(),
        };
        *self.counts.answers.entry(name).or_default() += 1;
    }
}
