// SPDX-License-Identifier: Apache-2.0
//! Launches in preparation: arguments are checked, all of them, before anything is written.

use godwit_card::{Arg, ArgKind, Kernel, closest};
use godwit_core::layout;

use crate::driver::{DriverCard, Work};
use crate::objects::card::Card;
use crate::objects::context::Context;
use crate::objects::launch::Launch;
use crate::objects::value::{HostRange, Value, as_u32};
use crate::state::{Request, State};
use crate::svm::{Pinned, Want};
use crate::{Completion, Error};

/// Words of a control block, each with its offset.
type Words = Vec<(u64, u32)>;

/// A launch in preparation; see [`Card::kernel`].
#[must_use = "nothing runs before `start` or `run`"]
pub struct LaunchBuilder<'a> {
    card: &'a Card,
    slot: usize,
    kernel: &'a Kernel,
    context: Option<&'a Context>,
    args: Vec<(String, Value<'a>)>,
    bare: bool,
    timeout_cycles: Option<u64>,
    check_status: bool,
}

impl Card {
    /// Prepares a launch of the kernel `name`.
    pub fn kernel(&self, name: &str) -> Result<LaunchBuilder<'_>, Error> {
        let kernels = &self.description().kernels;
        let slot = kernels.iter().position(|kernel| kernel.name == name);
        let slot = slot.ok_or_else(|| {
            let names = kernels.iter().map(|kernel| kernel.name.as_str());
            Error::UnknownKernel {
                name: name.to_owned(),
                closest: closest(name, names.clone()).map(str::to_owned),
                kernels: names.map(str::to_owned).collect(),
            }
        })?;
        Ok(LaunchBuilder::new(self, slot, &kernels[slot]))
    }
}

impl<'a> LaunchBuilder<'a> {
    fn new(card: &'a Card, slot: usize, kernel: &'a Kernel) -> Self {
        Self {
            card,
            slot,
            kernel,
            context: None,
            args: Vec::new(),
            bare: false,
            timeout_cycles: None,
            check_status: true,
        }
    }

    /// Gives an argument.
    pub fn arg(mut self, name: &str, value: impl Into<Value<'a>>) -> Self {
        self.args.push((name.to_owned(), value.into()));
        self
    }

    /// Runs in this context; without it, in that of the buffers.
    pub fn context(mut self, context: &'a Context) -> Self {
        self.context = Some(context);
        self
    }

    /// Gives physical addresses and switches translation off, to compare. Every buffer must be in one piece.
    pub fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Stops the kernel when it is not done so many cycles after its start.
    pub fn timeout_cycles(mut self, cycles: u64) -> Self {
        self.timeout_cycles = Some(cycles);
        self
    }

    /// Takes an end with an error status as any other: the status is then one of the results.
    pub fn allow_status(mut self) -> Self {
        self.check_status = false;
        self
    }

    /// Runs the kernel to its end; behind the launches of it that came before.
    pub fn run(self) -> Result<Completion, Error> {
        self.start_anyhow()?.wait()
    }

    /// Starts the kernel, or puts the launch behind those of it that came before. Its buffers must live until it is done:
    /// freeing one stops it. Not for memory of the process, which nothing keeps: see [`LaunchBuilder::start_on_memory`].
    pub fn start(self) -> Result<Launch, Error> {
        if let Some((name, _)) = self.memory().next() {
            return Err(self.bad(format_args!(
                "`{name}` is memory of the process, which may be gone before the kernel ends: use run, or start_on_memory"
            )));
        }
        self.start_anyhow()
    }

    /// The same with memory of the process among its arguments.
    ///
    /// # Safety
    /// The memory stays, and nobody refers to what the kernel writes, until the launch has ended and its result was taken. On a card that
    /// asks for pages the same goes for memory of the process to which the kernel finds pointers.
    pub unsafe fn start_on_memory(self) -> Result<Launch, Error> {
        self.start_anyhow()
    }

    fn start_anyhow(self) -> Result<Launch, Error> {
        self.check_names()?;
        let context = self.common_context()?;
        if let Some(driver) = self.card.shared.driver() {
            return self.start_by_driver(driver, context);
        }
        let pinned = self.bring_memory(context)?;
        let launch = Launch::start(self.card, self.slot, &self.kernel.name, pinned, |state| {
            let id = context
                .map(|context| context.check(self.card, state))
                .transpose()?;
            let mut buffers = Vec::new();
            let registers = self.registers(|arg, address| {
                self.pointer(arg, address, state, context, &mut buffers)
            })?;
            if !self.bare {
                state.settle_ranges()?;
            }
            Ok(Request {
                binding: match id {
                    _ if self.bare => (layout::PORT_MODE_BARE, 0),
                    Some(id) => (layout::PORT_MODE_TRANSLATE, id),
                    None => (layout::PORT_MODE_OFF, 0),
                },
                registers,
                context: context.map(Context::serial),
                buffers,
                timeout_cycles: self.timeout_cycles,
                check_status: self.check_status,
                keeps: None,
            })
        });
        // From now on what this process touches of its heap gets frames; what it saw as untouched before may get some from the kernel.
        self.card.shared.look_again();
        launch
    }

    /// On a card that the driver has: nothing is mapped or moved here.
    fn start_by_driver(
        &self,
        driver: &DriverCard,
        context: Option<&Context>,
    ) -> Result<Launch, Error> {
        self.card.shared.check_process()?;
        if !driver.is_open() {
            return Err(Error::Closed);
        }
        if self.bare {
            return Err(driver.not_there());
        }
        if self.timeout_cycles.is_some() {
            return Err(driver.no_clock());
        }
        let Some((context, known)) = context.and_then(|of| Some((of, of.by_driver()?))) else {
            return Err(self.bad(format_args!(
                "say in which context it runs: on a card behind the driver no buffer says so"
            )));
        };
        context.check_card(self.card)?;
        if !self.wants(context)?.is_empty() {
            known.check_demand()?;
        }
        let mut uses = Vec::new();
        let registers = self.registers(|arg, address| match known.allocation_around(address) {
            Some((start, _)) => {
                uses.push(start);
                Ok(address)
            }
            None => Err(self.bad(format_args!(
                "argument `{}`: {address:#x} is in no memory that the context was given (Rust: Value::Memory, C: godwit_use)",
                arg.name
            ))),
        })?;
        let work = Work {
            channel: known.channel()?,
            context: context.id(),
            kernel: self.kernel.clone(),
            registers,
            uses,
            check_status: self.check_status,
        };
        Launch::start_by_driver(self.card, driver, self.slot, work)
    }

    fn memory(&self) -> impl Iterator<Item = (&str, HostRange)> {
        self.args.iter().filter_map(|(name, value)| match value {
            Value::Memory(range) => Some((name.as_str(), *range)),
            _ => None,
        })
    }

    /// Brings memory of the process that is no buffer's to the card, for as long as the launch takes.
    fn bring_memory(&self, context: Option<&Context>) -> Result<Option<Pinned>, Error> {
        let Some((name, _)) = self.memory().next() else {
            return Ok(None);
        };
        let Some(context) = context else {
            return Err(self.bad(format_args!(
                "argument `{name}` is memory of the process: say which context shares it"
            )));
        };
        if self.bare {
            return Err(self.bad(format_args!(
                "argument `{name}` is memory of the process, which a launch with physical addresses cannot reach"
            )));
        }
        let mut wants = self.wants(context)?;
        let id = context.id() as usize;
        let wants = self.card.shared.with(|state| {
            let buffers = &state.context(id, context.serial())?.buffers;
            wants.retain(|want| {
                let around = buffers.range(..=want.start).next_back();
                around.is_none_or(|(start, buffer)| want.start - start >= buffer.len)
            });
            Ok(wants)
        })?;
        if wants.is_empty() {
            return Ok(None);
        }
        let Some(sharing) = context.sharing() else {
            return Err(self.bad(format_args!(
                "argument `{name}` is memory of the process, which the context does not share: open the card with shared=True \
                 (Rust: Context::share_process, C: godwit_share_process), or copy it to a buffer"
            )));
        };
        let pinned = sharing.pager.pin(sharing.owner, wants)?;
        Ok(Some(pinned))
    }

    /// What it does with memory of the process, checked.
    fn wants(&self, context: &Context) -> Result<Vec<Want>, Error> {
        let mut wants = Vec::new();
        for (name, range) in self.memory() {
            let arg = self.kernel.args.iter().find(|arg| arg.name == name);
            let writes = arg
                .and_then(|arg| arg.access)
                .map_or(range.writable, |access| access.writes());
            if writes && !range.writable {
                return Err(self.bad(format_args!(
                    "it writes `{name}`, but that memory is read-only: give it memory that is writable"
                )));
            }
            let HostRange {
                address,
                bytes,
                kept,
                ..
            } = range;
            context.check_memory(address, bytes)?;
            wants.push(Want {
                start: address,
                len: bytes,
                writes,
                kept,
            });
        }
        Ok(wants)
    }

    fn buffers(&self) -> impl Iterator<Item = (&str, &'a crate::Buffer)> {
        self.args.iter().filter_map(|(name, value)| match value {
            Value::Buffer(buffer) => Some((name.as_str(), *buffer)),
            _ => None,
        })
    }

    fn bad(&self, problem: std::fmt::Arguments<'_>) -> Error {
        Error::Argument(format!("kernel `{}`: {problem}", self.kernel.name))
    }

    /// The context asked for, or the one of the buffers, which must all agree.
    fn common_context(&self) -> Result<Option<&'a Context>, Error> {
        let mut context = self.context;
        for (name, buffer) in self.buffers() {
            if **context.get_or_insert(buffer.context()) != *buffer.context() {
                return Err(self.bad(format_args!("buffer `{name}` belongs to another context")));
            }
        }
        Ok(context)
    }

    /// Arguments that are the caller's to give and were not given.
    fn left_out(&self) -> impl Iterator<Item = &'a Arg> {
        let inputs = self.kernel.args.iter().filter(|arg| !arg.kind.is_result());
        inputs.filter(|arg| !self.args.iter().any(|(name, _)| *name == arg.name))
    }

    /// Every argument without a default is given once, and none that is not the caller's to give.
    fn check_names(&self) -> Result<(), Error> {
        let inputs = || {
            self.kernel
                .args
                .iter()
                .filter(|arg| !arg.kind.is_result())
                .map(|arg| arg.name.as_str())
        };
        for (index, (name, _)) in self.args.iter().enumerate() {
            if self.args[..index]
                .iter()
                .any(|(earlier, _)| earlier == name)
            {
                return Err(self.bad(format_args!("argument `{name}` is given twice")));
            }
            if inputs().any(|input| input == name) {
                continue;
            }
            if self.kernel.args.iter().any(|arg| arg.name == *name) {
                return Err(self.bad(format_args!(
                    "`{name}` is a result, which the kernel writes: do not give it"
                )));
            }
            let hint = match closest(name, inputs()) {
                Some(closest) => format!("did you mean `{closest}`?"),
                None => format!("it takes {}", inputs().collect::<Vec<_>>().join(", ")),
            };
            return Err(self.bad(format_args!("no argument `{name}`; {hint}")));
        }
        let missing: Vec<_> = self
            .left_out()
            .filter(|arg| arg.default.is_none())
            .map(|arg| arg.name.as_str())
            .collect();
        if !missing.is_empty() {
            return Err(self.bad(format_args!("missing arguments: {}", missing.join(", "))));
        }
        Ok(())
    }

    /// The words to write into the control block, each with its offset; `pointer` says what the kernel is given for an address.
    fn registers(
        &self,
        mut pointer: impl FnMut(&Arg, u64) -> Result<u64, Error>,
    ) -> Result<Words, Error> {
        let mut registers = Vec::new();
        let mut set = |arg: &Arg, number: u64| {
            registers.push((arg.offset, number as u32));
            if arg.kind != ArgKind::U32 {
                registers.push((arg.offset + 4, (number >> 32) as u32));
            }
        };
        for arg in self.left_out() {
            set(arg, arg.default.unwrap_or_default());
        }
        for (name, value) in &self.args {
            let Some(arg) = self.kernel.args.iter().find(|arg| arg.name == *name) else {
                continue;
            };
            let number = match (arg.kind, value) {
                (ArgKind::Buffer, Value::Null | Value::Number(0)) => 0,
                (ArgKind::Buffer, Value::Address(address)) => *address,
                (ArgKind::Buffer, Value::Memory(range)) => range.address,
                (ArgKind::Buffer, Value::Number(address)) => pointer(arg, *address)?,
                (ArgKind::Buffer, Value::Buffer(buffer)) => pointer(arg, buffer.address())?,
                (kind, value) => self.number(name, kind, *value)?,
            };
            set(arg, number);
        }
        Ok(registers)
    }

    /// What the kernel is given for an argument that is no buffer.
    fn number(&self, name: &str, kind: ArgKind, value: Value<'_>) -> Result<u64, Error> {
        let given = match (kind, value) {
            (ArgKind::U32, Value::Number(number)) => {
                return as_u32(number).map(u64::from).ok_or_else(|| {
                    self.bad(format_args!(
                        "argument `{name}` has 32 bits, {number} needs more"
                    ))
                });
            }
            (_, Value::Number(number)) => return Ok(number),
            (_, Value::Buffer(_)) => "a buffer",
            (_, Value::Null) => "nothing",
            (_, Value::Address(_)) => "an address",
            (_, Value::Memory(_)) => "memory",
        };
        Err(self.bad(format_args!(
            "argument `{name}` is a {}, not {given}",
            kind.name()
        )))
    }

    /// An address in a live buffer of the context, as the kernel must be given it.
    fn pointer(
        &self,
        arg: &Arg,
        address: u64,
        state: &mut State,
        context: Option<&Context>,
        buffers: &mut Vec<u64>,
    ) -> Result<u64, Error> {
        let name = &arg.name;
        let Some(context) = context else {
            return Err(self.bad(format_args!(
                "argument `{name}` is an address: say of which context"
            )));
        };
        let context = state.context(context.id() as usize, context.serial())?;
        let around = context.buffers.range(..=address).next_back();
        let Some((start, buffer)) = around.filter(|(start, buffer)| address - **start < buffer.len)
        else {
            return Err(self.bad(format_args!(
                "argument `{name}`: {address:#x} is in no buffer of the context"
            )));
        };
        if let Some(Err(why)) = buffer.owner.as_ref().map(|owner| owner.check()) {
            return Err(self.bad(format_args!(
                "argument `{name}`: the memory at {start:#x} is shared with the card and was taken away: {why}"
            )));
        }
        if arg.access.is_some_and(|access| access.writes()) && !buffer.writable {
            return Err(self.bad(format_args!(
                "it writes `{name}`, but that buffer is read-only: allocate it readable and writable"
            )));
        }
        buffers.push(*start);
        if !self.bare {
            return Ok(address);
        }
        if !buffer.contiguous {
            return Err(self.bad(format_args!(
                "buffer `{name}` is not physically contiguous, which a launch with physical addresses needs: allocate it so"
            )));
        }
        Ok(context.table.lookup(address)?.translate(address))
    }
}
