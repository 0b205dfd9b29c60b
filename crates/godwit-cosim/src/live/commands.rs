// SPDX-License-Identifier: Apache-2.0
//! Commands for what changed, and what is over with their fence.

use godwit::command::Command;
use godwit_card::CardError;

use super::Live;
use crate::CosimError;

impl Live {
    /// Hands commands to the queue.
    pub(super) fn put(&mut self, commands: &[Command]) -> Result<(), CardError> {
        self.queue.put(&mut self.card, commands)
    }

    /// A fence behind all commands so far; waits for it. What they drop is over.
    pub(super) fn fence(&mut self) -> Result<Result<(), String>, CosimError> {
        if self.queue.waiting() == 0 {
            return Ok(Ok(()));
        }
        let now = match self.queue.fence(&mut self.card)? {
            Ok(now) => now,
            Err(status) => {
                return Ok(Err(format!(
                    "the command queue stands: cqcsr has {status:#x}"
                )));
            }
        };
        self.over(now);
        for space in &mut self.spaces {
            space.table.reclaim();
        }
        self.counts.1 += 1;
        Ok(Ok(()))
    }
}
