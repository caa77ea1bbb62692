//! Measures the peak rates of a machine, with which times are compared.

/// Measures a machine repeatedly with the threads of an engine. Memory has states that change within a second, so a
/// rate is meaningful only in comparison with a read in the same second.
pub trait Gauge: Send {
    /// The current read rate of all threads in bytes per second, for private memory that no cache holds: one sweep of
    /// some milliseconds. `None` if the system can't start threads.
    fn read(&mut self) -> Option<f64>;

    /// The same of one thread, while the others rest.
    fn read_alone(&mut self) -> Option<f64>;

    /// The multiply-adds of bytes per second of all threads, in the fastest loop for the instruction set, with operands
    /// in registers and the first cache. `None` if the system can't start threads.
    fn products(&mut self) -> Option<f64>;

    /// Places at which each thread reads at once: as many as were fastest.
    fn streams(&self) -> usize;

    /// Bytes of memory that it holds.
    fn bytes(&self) -> u64;
}

/// The median of some sweeps, in bytes per second.
pub fn median_read(gauge: &mut dyn Gauge) -> Option<f64> {
    const SWEEPS: usize = 15;
    let mut reads: Vec<f64> = (0..SWEEPS).map(|_| gauge.read()).collect::<Option<_>>()?;
    reads.sort_by(f64::total_cmp);
    reads.get(SWEEPS / 2).copied()
}
