use super::*;
use crate::conformance::Delayed;
use crate::engine::{Buffer, Executable};
use crate::{EngineOptions, Queue, Reference};
use std::collections::HashMap;

fn reference() -> Arc<dyn Engine> {
    Arc::new(Reference::new(&EngineOptions::default().budget(1 << 24)).unwrap())
}

#[test]
fn the_reference_engine_and_late_work_conform() {
    let report = queue(reference().as_ref());
    assert!(report.passed() && report.skipped().next().is_none(), "{report}");
    for (ahead, seed) in (1..=4).flat_map(|ahead| (0..12).map(move |seed| (ahead, seed))) {
        let report = queue(&Delayed::new(reference(), ahead, seed));
        assert!(report.passed() && report.skipped().next().is_none(), "seed {seed}: {report}");
    }
}

/// The fault of a queue.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// A fetch reads what the buffer holds now.
    FetchesTheLatest,
    /// A fetch runs all that waits, and then reads.
    FetchesTwice,
    /// Writes do not wait for submits.
    WritesOvertake,
    /// A failure is forgotten when other work follows.
    ForgetsFailures,
    /// Ranges are not checked.
    RunsBeforeTheCheck,
    /// A read does not wait.
    ReadsEarly,
}

/// An engine whose queues have a fault.
struct Faulty {
    inner: Arc<dyn Engine>,
    wrong: Wrong,
}

impl Engine for Faulty {
    crate::pass_on! { inner: caps registry alloc alloc_all weight_bytes warm load prepare draws gauge }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        let (inner, wrong) = (self.inner.queue()?, self.wrong);
        Ok(Box::new(FaultyQueue { inner, wrong, held: Vec::new(), tickets: HashMap::new(), last: 0 }))
    }
}

/// Holds submits back until somebody asks for results.
struct FaultyQueue {
    inner: Box<dyn Queue>,
    wrong: Wrong,
    held: Vec<(u64, Arc<dyn Executable>, Vec<Back>)>,
    tickets: HashMap<u64, (Option<Ticket>, Vec<Back>)>,
    last: u64,
}

impl FaultyQueue {
    fn run(&mut self) {
        for (ticket, executable, back) in self.held.drain(..) {
            let inner = self.inner.submit(&executable, &back).ok();
            self.tickets.insert(ticket, (inner, back));
        }
    }

    fn reach(&mut self, ticket: Ticket) -> Result<(Ticket, Vec<Back>)> {
        self.run();
        let failed = Error::Foreign { what: "ticket", engine: "faulty".to_owned() };
        match self.tickets.get(&ticket.0) {
            Some((Some(inner), back)) => Ok((*inner, back.clone())),
            Some((None, back)) if matches!(self.wrong, Wrong::ForgetsFailures) && ticket.0 < self.last => {
                Ok((Ticket(0), back.clone()))
            }
            _ => Err(failed),
        }
    }
}

impl Queue for FaultyQueue {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        if !matches!(self.wrong, Wrong::RunsBeforeTheCheck) {
            back.iter().try_for_each(Back::check)?;
        } else if back.iter().any(|b| b.check().is_err()) {
            self.run();
            self.inner.submit(executable, &[])?;
            return Err(Error::OutOfBuffer { offset: 0, end: 0, bytes: 0 });
        }
        self.last += 1;
        self.held.push((self.last, executable.clone(), back.to_vec()));
        Ok(Ticket(self.last))
    }
    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        let (inner, back) = self.reach(ticket)?;
        match (self.wrong, back.get(range).filter(|b| b.bytes == into.len())) {
            (Wrong::FetchesTheLatest | Wrong::FetchesTwice, Some(range)) => {
                self.inner.read(&range.buffer, range.offset, into)
            }
            _ => self.inner.fetch(inner, range, into),
        }
    }
    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        if !matches!(self.wrong, Wrong::WritesOvertake) {
            self.run();
        }
        self.inner.write(dst, offset, bytes)
    }
    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        if !matches!(self.wrong, Wrong::ReadsEarly) {
            self.run();
        }
        self.inner.read(src, offset, into)
    }
    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        self.reach(ticket).map(drop)
    }
}

#[test]
fn queues_with_a_fault_are_found() {
    for (wrong, check) in [
        (Wrong::FetchesTheLatest, "queue, six submits before the first fetch"),
        (Wrong::FetchesTwice, "queue, a range is fetched once"),
        (Wrong::WritesOvertake, "queue, writes keep their place"),
        (Wrong::ForgetsFailures, "queue, a failure is told"),
        (Wrong::RunsBeforeTheCheck, "queue, ranges are checked"),
        (Wrong::ReadsEarly, "queue, reads come last"),
    ] {
        let report = queue(&Faulty { inner: reference(), wrong });
        assert!(report.failed().any(|r| r.case == check), "{wrong:?}: {report}");
    }
}
