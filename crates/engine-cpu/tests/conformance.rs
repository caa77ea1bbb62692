//! Every kernel on every instruction set of this machine against the definitions.

use inkstone_compute::{EngineOptions, conformance};
use inkstone_engine_cpu::{Cpu, Set};

#[test]
fn every_instruction_set_conforms() {
    for set in Set::ALL.into_iter().filter(|s| s.is_here()) {
        for threads in [1, 3] {
            let engine = Cpu::new(&EngineOptions::default().budget(1 << 28).threads(threads).isa(set.name())).unwrap();
            let report = conformance::run(&engine);
            assert!(report.passed(), "{}: {report}", set.name());
            // Activations of one column can't be encoded, so a kernel that wants them so is never asked.
            let skipped: Vec<String> = report.skipped().map(ToString::to_string).collect();
            assert!(skipped.iter().all(|s| s.ends_with("rows of 1 are no whole blocks of Q8_A")), "{skipped:?}");
        }
    }
}
