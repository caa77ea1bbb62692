//! Measures the peak rates of this machine.

use crate::bandwidth::Sweep;
use crate::isa::Set;
use crate::peak;
use inkstone_compute::Gauge;

/// The gauge of some threads and an instruction set.
pub(crate) struct CpuGauge {
    sweep: Sweep,
    set: Set,
    threads: usize,
}

impl CpuGauge {
    /// `None` without the memory that is read.
    pub(crate) fn new(threads: usize, set: Set) -> Option<CpuGauge> {
        let sweep = Sweep::new(threads, set)?;
        Some(CpuGauge { sweep, set, threads })
    }
}

impl Gauge for CpuGauge {
    fn read(&mut self) -> Option<f64> {
        self.sweep.read()
    }

    fn read_alone(&mut self) -> Option<f64> {
        self.sweep.read_with(1)
    }

    fn products(&mut self) -> Option<f64> {
        peak::products(self.threads, self.set)
    }

    fn streams(&self) -> usize {
        self.sweep.streams
    }

    fn bytes(&self) -> u64 {
        self.sweep.bytes()
    }
}
