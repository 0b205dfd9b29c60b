// SPDX-License-Identifier: Apache-2.0
//! Lines that kernels move over the link by using pages in place: which groups of pages, how many, and what one costs. Another thread decides
//! what that means for the pages; the clock stands until it has.

use std::sync::Arc;

use godwit_card::Config;

use super::State;
use super::costs::Work;
use crate::Error;
use crate::hardware::line_counters::{self, GROUP_BYTES, LineReport};
use crate::svm::PageCosts;

const PS: f64 = 1000.0;
/// Bytes of a line.
const LINE: f64 = 64.0;
/// Fewest lines that make a report: one takes the host longer than so many take on the link.
const FEWEST: u64 = 16;
/// The same, as long as nobody knows what a line costs.
const FIRST: u32 = 64;

/// Who hears of groups that crossed the link.
pub(crate) trait LineWatcher: Send + Sync {
    /// These did; a line costs so many picoseconds, 0 as long as that is not known. Answered with [`State::lines_seen`]; does not wait
    /// for that.
    fn crossed(&self, reports: Vec<LineReport>, line_ps: u64);
}

/// The access counters of a card, turned on.
pub(super) struct Lines {
    watcher: Arc<dyn LineWatcher>,
    /// Lists that it works on.
    waiting: usize,
    /// When the lines of a launch were counted last: the time that kernels worked, lines.
    mark: Option<(u64, u32)>,
    /// The same, from when on what a line costs is measured until the launch's end.
    from: Option<(u64, u32)>,
    /// The next launch is to be measured.
    wanted: bool,
    /// Since when requests for pages are served: virtual time, that of migrations.
    serving: Option<(u64, u64)>,
    /// Virtual time in which some were, but for that of migrations.
    served_ps: u64,
    /// What a line costs; 0: not known yet.
    line_ps: u64,
}

/// What pages cost on a card: `[host]` and `[host_link]` of its configuration.
pub(crate) fn page_costs(config: &Config) -> PageCosts {
    let (host, link) = (config.host, config.host_link);
    let page = GROUP_BYTES as f64 / 16.0 / link.payload_gbps();
    PageCosts {
        copy: (link.latency_ns * PS) as u64,
        copy_page: (page * PS) as u64,
        leave: (host.leave_ns * PS) as u64,
        leave_page: (host.leave_page_ns * PS) as u64,
    }
}

/// What a line costs at least, when the link is full, and at most, when it is waited for alone.
fn line_limits(config: &Config) -> (u64, u64) {
    let link = config.host_link;
    let least = LINE / link.payload_gbps() * PS;
    (least as u64, (least + link.latency_ns * PS) as u64)
}

impl State {
    /// Has groups of pages that cross the link told to `watcher`, from now on; whoever asked first hears of all.
    pub fn watch_lines(&mut self, watcher: Arc<dyn LineWatcher>) -> Result<(), Error> {
        if self.lines.is_some() {
            return Ok(());
        }
        line_counters::turn_on(self.device.as_mut(), FIRST)?;
        self.lines = Some(Lines {
            watcher,
            waiting: 0,
            mark: None,
            from: None,
            wanted: false,
            serving: None,
            served_ps: 0,
            line_ps: 0,
        });
        Ok(())
    }

    /// Lines that make a report, at so many picoseconds each: what moving a group at the begin of its stay costs more than leaving it, and a
    /// quarter, for the next measurement may be lower; as of one that is written. Fewer of a group that is not would have it move a little
    /// earlier, but each report takes the host some register accesses, and that costs more.
    fn threshold(&self, line_ps: u64) -> u32 {
        let costs = page_costs(&self.device.description().config);
        let begin = costs.group(line_ps, true).begin;
        let lines = (begin + begin / 4) / line_ps.max(1);
        u32::try_from(lines.max(FEWEST)).unwrap_or(u32::MAX)
    }

    /// Whether somebody decides about groups that crossed the link.
    pub fn awaits_lines(&self) -> bool {
        self.lines.as_ref().is_some_and(|lines| lines.waiting > 0)
    }

    /// A list of reports has been decided about.
    pub fn lines_seen(&mut self) {
        if let Some(lines) = &mut self.lines {
            lines.waiting = lines.waiting.saturating_sub(1);
        }
    }

    /// Pages are about to be used of which all lines are to be known: what one costs is measured over the rest of this launch, or the next, for
    /// it depends on how many the kernel has under way. Takes some register accesses, once a launch.
    pub fn measure_lines(&mut self) -> Result<(), Error> {
        let works = self.any_at_work();
        match &mut self.lines {
            Some(lines) if !works => lines.wanted = true,
            Some(Lines { from: None, .. }) => self.lines_from_here()?,
            _ => {}
        }
        Ok(())
    }

    fn lines_from_here(&mut self) -> Result<(), Error> {
        let now = self.lines_now()?;
        if let Some(lines) = &mut self.lines {
            (lines.mark, lines.from, lines.wanted) = (Some(now), Some(now), false);
        }
        Ok(())
    }

    /// The first kernel begins. Where nobody wants to know more, what a line costs is measured from the launch's first reports on, which
    /// takes nobody's time.
    pub(super) fn lines_begin(&mut self) -> Result<(), Error> {
        match &mut self.lines {
            Some(lines) if lines.wanted => self.lines_from_here()?,
            Some(lines) => (lines.mark, lines.from) = (None, None),
            None => {}
        }
        Ok(())
    }

    /// A kernel is done.
    pub(super) fn lines_end(&mut self) -> Result<(), Error> {
        let Some(from) = self.lines.as_mut().and_then(|lines| lines.from.take()) else {
            return Ok(());
        };
        let now = self.lines_now()?;
        let Some(cost) = self.cost_between(from, now) else {
            return Ok(());
        };
        self.set_cost(cost)?;
        if let Some(lines) = &mut self.lines {
            lines.waiting += 1;
            Arc::clone(&lines.watcher).crossed(Vec::new(), cost);
        }
        Ok(())
    }

    /// The time in which kernels worked, and lines: requests for pages, and migrations, are no part of what a line costs.
    fn lines_now(&mut self) -> Result<(u64, u32), Error> {
        let crossed = line_counters::lines(self.device.as_mut())?;
        let served = self.lines.as_ref().map_or(0, |lines| lines.served_ps);
        let other = self.steps.total() + served;
        Ok((self.device.stats()?.time_ps.saturating_sub(other), crossed))
    }

    /// Requests for pages may be there, and are looked for.
    pub(super) fn lines_pause(&mut self) -> Result<(), Error> {
        let now = (self.device.stats()?.time_ps, self.steps.total());
        if let Some(lines) = &mut self.lines {
            lines.serving.get_or_insert(now);
        }
        Ok(())
    }

    /// They have been answered, if no others wait.
    pub(super) fn lines_go_on(&mut self) -> Result<(), Error> {
        if self.awaits_pages() {
            return Ok(());
        }
        let now = (self.device.stats()?.time_ps, self.steps.total());
        if let Some(lines) = &mut self.lines
            && let Some((time, moving)) = lines.serving.take()
        {
            lines.served_ps += (now.0 - time).saturating_sub(now.1 - moving);
        }
        Ok(())
    }

    /// Tells of the groups that were reported, if there are any.
    pub(super) fn serve_lines(&mut self) -> Result<(), Error> {
        if self.lines.is_none() || line_counters::waiting(self.device.as_mut())? == 0 {
            return Ok(());
        }
        self.host_works(Work::Interrupt)?;
        self.host_works(Work::Wakeup)?;
        let mut reports = Vec::new();
        for _ in 0..line_counters::waiting(self.device.as_mut())? {
            reports.extend(line_counters::take(self.device.as_mut())?);
        }
        let line_ps = self.cost_of_lines()?;
        if let Some(lines) = &mut self.lines {
            lines.waiting += 1;
            Arc::clone(&lines.watcher).crossed(reports, line_ps);
        }
        Ok(())
    }

    /// What a line has cost since the last measurement: the time in which kernels worked for it, within what the link allows.
    fn cost_of_lines(&mut self) -> Result<u64, Error> {
        let now = self.lines_now()?;
        let Some(lines) = &mut self.lines else {
            return Ok(0);
        };
        let known = lines.line_ps;
        let before = lines.mark.replace(now);
        let Some(cost) = before.and_then(|before| self.cost_between(before, now)) else {
            return Ok(known);
        };
        self.set_cost(cost)?;
        Ok(cost)
    }

    /// What a line cost between two counts.
    fn cost_between(&self, before: (u64, u32), now: (u64, u32)) -> Option<u64> {
        let (least, most) = line_limits(&self.device.description().config);
        // Somebody may have set the counters to zero meanwhile.
        let lines = now.1.checked_sub(before.1).filter(|lines| *lines > 0)?;
        let cost = now.0.saturating_sub(before.0) / u64::from(lines);
        Some(cost.clamp(least, most).max(1))
    }

    fn set_cost(&mut self, line_ps: u64) -> Result<(), Error> {
        let threshold = self.threshold(line_ps);
        line_counters::set_threshold(self.device.as_mut(), threshold)?;
        if let Some(lines) = &mut self.lines {
            lines.line_ps = line_ps;
        }
        Ok(())
    }

    /// Pages of these ranges (first physical address, bytes) are not used in place any more: their lines are not counted for who has the
    /// place next, but returned if they are wanted (`counted`: a register access more for each group).
    pub fn clear_lines(
        &mut self,
        ranges: &[(u64, u64)],
        counted: bool,
    ) -> Result<Vec<LineReport>, Error> {
        let mut reports = Vec::new();
        if self.lines.is_none() {
            return Ok(reports);
        }
        for (pa, len) in ranges {
            let first = pa & !(GROUP_BYTES - 1);
            for group in (first..pa + len).step_by(GROUP_BYTES as usize) {
                let device = self.device.as_mut();
                match counted {
                    true => reports.push(line_counters::end(device, group)?),
                    false => line_counters::clear(device, group)?,
                }
            }
        }
        Ok(reports)
    }
}
