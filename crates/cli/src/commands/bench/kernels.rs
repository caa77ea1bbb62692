//! `bench --kernels`: times every kernel that supports a case. The chosen kernel should be about the fastest.

use crate::args::BenchArgs;
use crate::commands::open;
use crate::{Error, output};
use inkstone::compute::conformance::speed;
use inkstone::engines;

pub(super) fn time(args: &BenchArgs) -> Result<(), Error> {
    let threads = args.thread_counts();
    let &[threads] = threads else {
        return Err(Error::Usage("--kernels takes one number of --threads".to_owned()));
    };
    let engine = engines::open(args.engine(), &args.engine_options(open::threads(threads)))?;
    let mut printed = Ok(());
    let choices = speed::run(&*engine, |choice| {
        if printed.is_ok() {
            printed = output::print(format!("{choice}\n").as_bytes());
        }
    });
    printed?;
    let choices = choices.map_err(Error::Kernel)?;
    let slow = choices.iter().filter(|choice| !choice.is_good()).count();
    if args.assert && slow > 0 {
        return Err(Error::SlowKernels { slow, all: choices.len() });
    }
    Ok(())
}
