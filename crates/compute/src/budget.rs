//! The memory that an engine may take, and who has how much of it.

use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The purpose of memory for a copy of the weights, in errors.
pub const WEIGHTS: &str = "the weights";

/// Bytes that an engine may allocate, and those that it has. One for each engine, shared by its buffers.
///
/// ```
/// use inkstone_compute::Budget;
///
/// let budget = Budget::new("cpu", 1000);
/// let share = budget.charge(600, "a state")?;
/// assert!(budget.charge(600, "a port").is_err());
/// drop(share);
/// assert!(budget.charge(600, "a port").is_ok());
/// # Ok::<(), inkstone_compute::Error>(())
/// ```
#[derive(Debug)]
pub struct Budget {
    engine: &'static str,
    bytes: u64,
    used: AtomicU64,
}

/// A share of a budget, given back when it is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    /// Of the engine of this name.
    pub fn new(engine: &'static str, bytes: u64) -> Arc<Budget> {
        Arc::new(Budget { engine, bytes, used: AtomicU64::new(0) })
    }

    /// Takes a share of the budget; `what` is its purpose in errors.
    ///
    /// # Errors
    /// [`Error::Budget`] with the free bytes if they are fewer.
    pub fn charge(self: &Arc<Budget>, bytes: u64, what: &'static str) -> Result<Charge> {
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.bytes);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => Ok(Charge { budget: self.clone(), bytes }),
            Err(used) => Err(Error::Budget {
                what,
                bytes,
                free: self.bytes.saturating_sub(used),
                budget: self.bytes,
                engine: self.engine.to_owned(),
            }),
        }
    }
}

impl Charge {
    /// Whether it is a share of this budget, and so what has it of the same engine.
    pub fn is_of(&self, budget: &Arc<Budget>) -> bool {
        Arc::ptr_eq(&self.budget, budget)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
