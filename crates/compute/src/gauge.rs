//! What a machine can do at most, measured: what times are held against.

/// Measures a machine with the threads of an engine, again and again: memory has states that change within a second, so a figure
/// means something beside a read of the same second alone.
pub trait Gauge: Send {
    /// Bytes a second that all threads together read now, of private memory that no cache holds: one sweep of some milliseconds.
    /// `None` if the system gives no threads.
    fn read(&mut self) -> Option<f64>;

    /// The same of one thread, while the others rest.
    fn read_alone(&mut self) -> Option<f64>;

    /// Multiply-adds of bytes a second that all threads together do in the fastest loop of the instruction set, out of registers
    /// and the nearest cache. `None` if the system gives no threads.
    fn products(&mut self) -> Option<f64>;

    /// Places at which each thread reads at once: as many as were fastest.
    fn streams(&self) -> usize;

    /// Bytes of memory that it holds.
    fn bytes(&self) -> u64;
}

/// Bytes a second, the median of some sweeps.
pub fn median_read(gauge: &mut dyn Gauge) -> Option<f64> {
    const SWEEPS: usize = 15;
    let mut reads: Vec<f64> = (0..SWEEPS).map(|_| gauge.read()).collect::<Option<_>>()?;
    reads.sort_by(f64::total_cmp);
    reads.get(SWEEPS / 2).copied()
}
