//! The memory that an engine may take, and who has how much of it.

use inkstone_compute::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that may be allocated, and those that are.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: u64,
    used: AtomicU64,
}

/// A share of a budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Arc<Budget> {
        Arc::new(Budget { bytes, used: AtomicU64::new(0) })
    }

    /// Takes a share; `what` it is for is told in errors.
    pub(crate) fn charge(self: &Arc<Budget>, bytes: u64, what: &'static str) -> Result<Charge> {
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.bytes);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => Ok(Charge { budget: self.clone(), bytes }),
            Err(used) => Err(Error::Budget {
                what,
                bytes,
                free: self.bytes.saturating_sub(used),
                budget: self.bytes,
                engine: crate::Cpu::NAME.to_owned(),
            }),
        }
    }
}

impl Charge {
    /// Whether it is a share of this budget.
    pub(crate) fn is_of(&self, budget: &Arc<Budget>) -> bool {
        Arc::ptr_eq(&self.budget, budget)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
