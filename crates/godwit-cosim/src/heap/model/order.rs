// SPDX-License-Identifier: Apache-2.0
//! Commands of several who ask at once: the heap does them one after the other, in an order that nobody sees.

use super::{Given, Model};

impl Model {
    /// Takes down the answers of several queues, given and answered between two times: in an order that explains all of them and
    /// keeps that of each queue. An error says what has none.
    pub fn explain(&mut self, queues: &[Vec<Given>], times: (u64, u64)) -> Result<(), String> {
        let mut taken = vec![0; queues.len()];
        let mut order = Vec::new();
        if !self.search(queues, &mut taken, &mut order) {
            let first = |queue: &Vec<Given>| {
                let given = queue.first()?;
                let verdicts = self.expected(&[], given.context, given.command);
                Some(format!("of {:x?} alone {verdicts:?}", given.command))
            };
            let alone: Vec<String> = queues.iter().filter_map(first).collect();
            return Err(format!(
                "no order of these commands explains their answers: {queues:x?}; expected {}; regions {:?}",
                alone.join(", "),
                self.regions
            ));
        }
        for given in order {
            self.answered(given, times)?;
        }
        Ok(())
    }

    fn search<'a>(
        &self,
        queues: &'a [Vec<Given>],
        taken: &mut [usize],
        order: &mut Vec<&'a Given>,
    ) -> bool {
        let mut done = true;
        for number in 0..queues.len() {
            let Some(next) = queues[number].get(taken[number]) else {
                continue;
            };
            done = false;
            if !self.allows(order, next) {
                continue;
            }
            taken[number] += 1;
            order.push(next);
            if self.search(queues, taken, order) {
                return true;
            }
            order.pop();
            taken[number] -= 1;
        }
        done
    }
}
