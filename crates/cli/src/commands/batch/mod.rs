//! `batch`: many requests at once, one per line, and their results in the same order.

mod lines;
mod request;
mod results;

use super::open;
use super::results::describe;
use crate::Error;
use crate::args::BatchArgs;
use crate::input::Input;
use crate::signals::Signals;
use crate::terminal::{self, Bar};
use inkstone::tensor::Progress;
use inkstone::{Batch, Model, Options};
use lines::{Line, Lines, Next};
use results::Results;
use std::path::Path;

/// The results that wait for an earlier one, in addition to the sequences. Memory is bounded for any number of lines.
const WAITING: usize = 64;

pub(crate) fn batch(args: &BatchArgs, signals: &Signals) -> Result<(), Error> {
    let (source, file) = args.sources()?;
    args.sampling.check()?;
    let input = if file == Path::new("-") { Input::stdin() } else { Input::open(file)? };
    // The scheduler chooses the rows of a step so that a signal takes effect soon.
    let options = open::options(&args.engine).sequences(args.sequences);
    let model = open::model(&source, options, signals)?;
    let _watch = signals.watch();
    if args.verbose {
        describe(&model, &source);
    }
    let options = args.sampling.options().cancel(signals.cancel());
    let mut work = Work { model: &model, options, batch: model.batch(), results: Results::new() };
    let size = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
    let done = work.all(Lines::read(input)?, args.sequences + WAITING, size, signals);
    terminal::note(&work.results.summary());
    done?;
    match work.results.failed() {
        0 => Ok(()),
        failed => Err(Error::Requests { failed, all: work.results.all() }),
    }
}

/// Requests that run, and their results.
struct Work<'m> {
    model: &'m Model,
    /// The options of the command line.
    options: Options,
    batch: Batch,
    results: Results,
}

impl Work<'_> {
    /// Reads and answers all lines. At most `most` requests are in memory; `size` is the size of the file.
    fn all(&mut self, mut lines: Lines, most: usize, size: Option<u64>, signals: &Signals) -> Result<(), Error> {
        let bar =
            size.filter(|_| !terminal::shows_results()).map(|size| (Bar::new("answering", signals.cancel()), size));
        let mut ended = false;
        loop {
            while !ended && self.batch.has_room() && self.results.len() < most && !signals.interrupted() {
                match lines.next(self.batch.is_empty()) {
                    Next::Line(line) => self.begin(line),
                    Next::Later => break,
                    Next::End => ended = true,
                }
            }
            let event = self.batch.next();
            if signals.interrupted() {
                self.results.write_complete()?;
                return Err(Error::Interrupted);
            }
            let idle = event.is_none();
            event.into_iter().for_each(|event| self.results.take(event));
            self.results.write()?;
            if let Some((bar, size)) = &bar {
                bar.update(self.results.read(), *size);
            }
            if idle && ended {
                return lines.finish();
            }
        }
    }

    /// Begins the request of a line.
    fn begin(&mut self, line: Line) {
        let (id, request) = match line.bytes {
            Some(bytes) if bytes.trim_ascii().is_empty() => return,
            Some(bytes) => request::parse(&bytes, self.model, &self.options),
            None => (None, Err(lines::too_long())),
        };
        let number = self.results.next();
        let begun = request.and_then(|request| self.batch.add(number, &request).map_err(|e| e.to_string()));
        self.results.begin(id, line.end, begun.err());
    }
}
