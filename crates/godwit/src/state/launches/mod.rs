// SPDX-License-Identifier: Apache-2.0
//! Kernels at work: launches of one kernel queue up in the order in which they came, those of different kernels run at once.
//!
//! The end of a launch is looked for when its interrupt is high, or now and then where there is none
//! ([`crate::hardware::control`]); its times are those that the card took when it happened. When the card breaks, every
//! launch ends with the error; the kernel that it names, with its own.
//!
//! What is known of a kernel and its launches is here; `calls` is what callers ask for, `work` what the engine does from start to
//! end, `stop` how a launch is ended early, `broken` how all of them are.

mod broken;
mod calls;
mod stop;
mod work;

use std::collections::VecDeque;
use std::sync::Arc;

use godwit_card::{Description, Kernel, Stats};
use godwit_core::layout;

use super::State;
use super::ticket::{Gate, Ticket};
use crate::Error;
use crate::hardware::control::{Control, Trouble};
use crate::svm::{PinId, Pinned};

pub(super) const IRQ_MMU: u32 = layout::IRQ_MMU as u32;

/// A kernel and its launches.
pub(crate) struct KernelState {
    kernel: Kernel,
    control: Control,
    running: Option<Running>,
    waiting: VecDeque<(Request, Arc<Ticket>)>,
    /// It did not stop when it was told to.
    stuck: bool,
}

/// A launch whose arguments were checked.
#[derive(Debug)]
pub(crate) struct Request {
    /// Mode and context of its ports.
    pub binding: (u32, usize),
    /// Words of the control block and their offsets.
    pub registers: Vec<(u64, u32)>,
    /// Context and buffers it was given, by their serial number and first addresses.
    pub context: Option<u64>,
    pub buffers: Vec<u64>,
    pub timeout_cycles: Option<u64>,
    /// An end with an error status is an error.
    pub check_status: bool,
    /// What has to stay until the launch has ended.
    pub keeps: Option<Pinned>,
}

impl Request {
    /// Its addresses are physical: nothing stands between it and any frame.
    fn bare(&self) -> bool {
        self.binding.0 == layout::PORT_MODE_BARE
    }

    /// The pages of the program that it has.
    pub(in crate::state) fn pin(&self) -> Option<PinId> {
        self.keeps.as_ref().map(Pinned::id)
    }
}

/// A launch that was started.
struct Running {
    request: Request,
    ticket: Arc<Ticket>,
    /// Before the arguments were written.
    called: Stats,
    /// When the start bit was written, as the host saw it.
    started: Stats,
    /// When a kernel without an interrupt is asked next.
    poll_at: u64,
}

impl Running {
    fn deadline(&self) -> Option<u64> {
        let timeout = self.request.timeout_cycles?;
        Some(self.started.cycles.saturating_add(timeout))
    }
}

/// Somebody for whom the clock runs until a launch has ended or a cycle has come.
pub(crate) struct Wait {
    ticket: Arc<Ticket>,
    until: Option<u64>,
    /// Opened then; without one the launch itself tells.
    gate: Option<Arc<Gate>>,
}

impl KernelState {
    pub fn all(description: &Description) -> Vec<Self> {
        let kernels = description.kernels.iter().enumerate();
        kernels
            .map(|(slot, kernel)| Self {
                kernel: kernel.clone(),
                control: Control::new(slot as u32, kernel.interrupt),
                running: None,
                waiting: VecDeque::new(),
                stuck: false,
            })
            .collect()
    }

    fn stuck_error(&self) -> Error {
        Error::Busy(format!(
            "kernel `{}` was cancelled before and has not stopped: open the card again to use it",
            self.kernel.name
        ))
    }

    fn trouble(&self, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Card(error) => error.into(),
            Trouble::Block(problem) => Error::Control {
                kernel: self.kernel.name.clone(),
                problem,
            },
        }
    }

    fn irq(slot: usize) -> u32 {
        (layout::IRQ_KERNEL0 as u32) << slot
    }
}

impl State {
    pub(in crate::state) fn cycle(&self) -> Result<u64, Error> {
        Ok(self.device.stats()?.cycles)
    }
}
