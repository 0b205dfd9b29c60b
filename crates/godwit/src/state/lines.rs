// SPDX-License-Identifier: Apache-2.0
//! Lines that kernels move over the link by using pages in place: which groups of pages, how many, and what one costs. Another thread decides
//! what that means for the pages; the clock stands until it has.

use std::sync::Arc;

use godwit_card::Config;

use super::State;
use super::costs::Work;
use super::launches::Request;
use super::paces::{Launch, Paces, Took};
use super::steps::Step;
use crate::Error;
use crate::hardware::line_counters::{self, GROUP_BYTES, LineReport};
use crate::svm::{PageCosts, PinId};

const PS: f64 = 1000.0;
/// Bytes of a line.
const LINE: f64 = 64.0;
/// Fewest lines that make a report: one takes the host longer than so many take on the link.
const FEWEST: u64 = 16;
/// The same, as long as nobody knows what a line costs.
const FIRST: u32 = 64;

/// Who hears of groups that crossed the link.
pub(crate) trait LineWatcher: Send + Sync {
    /// These did; a line costs so many picoseconds, 0 as long as that is not known, and does so in a launch, if one is named. Answered with
    /// [`State::lines_seen`]; does not wait for that.
    fn crossed(&self, reports: Vec<LineReport>, line_ps: u64, of: Option<PinId>);
}

/// As of some time.
#[derive(Debug, Clone, Copy)]
struct Count {
    /// Virtual time in which kernels worked: requests for pages, and migrations, are no part of what a line costs.
    work_ps: u64,
    /// That of copies.
    link_ps: u64,
    lines: u32,
    /// Bytes of pages that were copied.
    copied: u64,
}

/// The access counters of a card, turned on.
pub(super) struct Lines {
    watcher: Arc<dyn LineWatcher>,
    /// Lists that it works on.
    waiting: usize,
    /// Lines that make a report.
    threshold: u32,
    /// The only launch at work, since it began, and what a line costs in it, if that is known.
    alone: Option<Launch>,
    known: Option<u64>,
    /// What is known of launches.
    paces: Paces,
    /// When the lines of a launch were counted last.
    mark: Option<Count>,
    /// The same, from when on what a line costs is measured until the launch's end.
    from: Option<Count>,
    /// The next launch is to be measured.
    wanted: bool,
    /// Since when requests for pages are served: virtual time, that of migrations.
    serving: Option<(u64, u64)>,
    /// Virtual time in which some were, but for that of migrations.
    served_ps: u64,
    /// Bytes of pages that were copied, both ways.
    copied: u64,
    /// What a line costs at most, by a launch's time and its lines; 0: not known yet.
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
        let at_work = self.alone_at_work();
        let alone = at_work.map(|(slot, request)| Launch::of(slot, request));
        // Whoever asks first does so while requests are served: the rest of that is no part of what a line costs, either.
        let now = (self.device.stats()?.time_ps, self.steps.total());
        let serving = self.awaits_pages().then_some(now);
        self.lines = Some(Lines {
            watcher,
            waiting: 0,
            threshold: FIRST,
            alone,
            known: None,
            paces: Paces::default(),
            mark: None,
            from: None,
            wanted: false,
            serving,
            served_ps: 0,
            copied: 0,
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
    pub(super) fn lines_begin(&mut self, slot: usize, request: &Request) -> Result<(), Error> {
        let Some(lines) = &mut self.lines else {
            return Ok(());
        };
        let launch = Launch::of(slot, request);
        lines.known = lines.paces.line_ps(&launch);
        lines.alone = Some(launch);
        let (wanted, line_ps) = (lines.wanted, lines.known.unwrap_or(lines.line_ps));
        if line_ps > 0 {
            self.set_threshold(line_ps)?;
        }
        match &mut self.lines {
            _ if wanted => self.lines_from_here()?,
            Some(lines) => (lines.mark, lines.from) = (None, None),
            None => {}
        }
        Ok(())
    }

    /// Another kernel begins while one is at work: nobody can tell the lines of the one from those of the other.
    pub(super) fn lines_of_many(&mut self) {
        if let Some(lines) = &mut self.lines {
            (lines.alone, lines.known) = (None, None);
        }
    }

    /// A launch is done, which has these pages.
    pub(super) fn lines_end(&mut self, pin: Option<PinId>) -> Result<(), Error> {
        let Some(from) = self.lines.as_mut().and_then(|lines| lines.from.take()) else {
            return Ok(());
        };
        let now = self.lines_now()?;
        let cost = self.cost_between(&from, &now);
        let took = self.took_between(&from, &now);
        let Some(lines) = &mut self.lines else {
            return Ok(());
        };
        let alone = lines.alone.take();
        let mut with_most = true;
        if let (Some(launch), Some(took)) = (&alone, took) {
            with_most = lines.paces.add(launch, took, cost.unwrap_or(0));
            lines.known = lines.paces.line_ps(launch);
        }
        // The time of a launch that has its pages on the card says nothing of the few lines that it had beside them.
        lines.line_ps = cost.filter(|_| with_most).unwrap_or(lines.line_ps);
        let pin = pin.filter(|_| alone.is_some());
        let Some(cost) = lines.known.or(cost) else {
            return Ok(());
        };
        lines.waiting += 1;
        Arc::clone(&lines.watcher).crossed(Vec::new(), cost, pin);
        self.set_threshold(cost)
    }

    fn lines_now(&mut self) -> Result<Count, Error> {
        let crossed = line_counters::lines(self.device.as_mut())?;
        let (served, copied) = self
            .lines
            .as_ref()
            .map_or((0, 0), |lines| (lines.served_ps, lines.copied));
        let other = self.steps.total() + served;
        Ok(Count {
            work_ps: self.device.stats()?.time_ps.saturating_sub(other),
            link_ps: self.steps.of(Step::Link),
            lines: crossed,
            copied,
        })
    }

    /// Pages cross the link, either way.
    pub fn pages_cross(&mut self, bytes: u64) {
        if let Some(lines) = &mut self.lines {
            lines.copied += bytes;
        }
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
        let at_work = self.alone_at_work();
        let pin = at_work.and_then(|(_, request)| request.pin());
        if let Some(lines) = &mut self.lines {
            lines.waiting += 1;
            let pin = pin.filter(|_| lines.alone.is_some());
            Arc::clone(&lines.watcher).crossed(reports, line_ps, pin);
        }
        Ok(())
    }

    /// What a line costs in this launch, or has since the last measurement: the time in which kernels worked for it, within what the link allows.
    fn cost_of_lines(&mut self) -> Result<u64, Error> {
        if let Some(known) = self.lines.as_ref().and_then(|lines| lines.known) {
            return Ok(known);
        }
        let now = self.lines_now()?;
        let Some(lines) = &mut self.lines else {
            return Ok(0);
        };
        let known = lines.line_ps;
        let before = lines.mark.replace(now);
        let Some(cost) = before.and_then(|before| self.cost_between(&before, &now)) else {
            return Ok(known);
        };
        if let Some(lines) = &mut self.lines {
            lines.line_ps = cost;
        }
        self.set_threshold(cost)?;
        Ok(cost)
    }

    /// What a line cost at most between two counts.
    fn cost_between(&self, before: &Count, now: &Count) -> Option<u64> {
        let (least, most) = line_limits(&self.device.description().config);
        let lines = lines_between(before, now).filter(|lines| *lines > 0)?;
        let cost = now.work_ps.saturating_sub(before.work_ps) / u64::from(lines);
        Some(cost.clamp(least, most).max(1))
    }

    fn took_between(&self, before: &Count, now: &Count) -> Option<Took> {
        let costs = page_costs(&self.device.description().config);
        let time = |count: &Count| count.work_ps + count.link_ps;
        Some(Took {
            time_ps: time(now).saturating_sub(time(before)),
            lines: lines_between(before, now)?,
            copies_ps: costs.copies(now.copied - before.copied),
        })
    }

    fn set_threshold(&mut self, line_ps: u64) -> Result<(), Error> {
        let threshold = self.threshold(line_ps);
        match &mut self.lines {
            Some(lines) if lines.threshold != threshold => lines.threshold = threshold,
            _ => return Ok(()),
        }
        Ok(line_counters::set_threshold(
            self.device.as_mut(),
            threshold,
        )?)
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

/// Lines between two counts; none when somebody has set the counters to zero meanwhile.
fn lines_between(before: &Count, now: &Count) -> Option<u32> {
    now.lines.checked_sub(before.lines)
}
