// SPDX-License-Identifier: Apache-2.0
//! Where the virtual time of migrations goes.

use super::State;
use crate::Error;

/// A step of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// From a request's interrupt until somebody works on it.
    Request,
    /// The host's work on pages that leave: taking them, room, mapping them.
    Leave,
    /// Waiting for bytes on the link.
    Link,
    /// Unmapping, until no access uses the pages any more.
    Unmap,
    /// The host's work on pages that come home.
    Return,
}

impl Step {
    const ALL: [(Self, &str); 5] = [
        (Self::Request, "request"),
        (Self::Leave, "leave"),
        (Self::Link, "link"),
        (Self::Unmap, "unmap"),
        (Self::Return, "return"),
    ];
}

/// Virtual time of each.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Steps([u64; Step::ALL.len()]);

impl Steps {
    /// Names and picoseconds.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Step::ALL
            .map(|(step, name)| (name, self.0[step as usize]))
            .into_iter()
    }

    pub(super) fn of(&self, step: Step) -> u64 {
        self.0[step as usize]
    }

    pub(super) fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl State {
    /// Counts the virtual time of some work as that of a step, but for what in it is counted already.
    pub fn timed<R>(
        &mut self,
        step: Step,
        work: impl FnOnce(&mut Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (begin, counted) = (self.device.stats()?.time_ps, self.steps.total());
        let result = work(self)?;
        let took = self.device.stats()?.time_ps - begin;
        self.steps.0[step as usize] += took.saturating_sub(self.steps.total() - counted);
        Ok(result)
    }
}
