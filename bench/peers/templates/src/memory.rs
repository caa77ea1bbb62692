//! The most bytes that a program has allocated at the same time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

/// The system's allocator, which counts while it is asked to.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static ON: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

/// The most bytes that `work` had at a time, beyond those that were there before.
pub fn most_of<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<u64, E> {
    BYTES.store(0, Relaxed);
    MOST.store(0, Relaxed);
    ON.store(true, Relaxed);
    let done = work();
    ON.store(false, Relaxed);
    done.map(|_| MOST.load(Relaxed).unsigned_abs())
}

fn count(bytes: i64) {
    if ON.load(Relaxed) {
        MOST.fetch_max(BYTES.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    }
}

// SAFETY: all that is asked goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as the caller says.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as the caller says.
        unsafe { System.dealloc(old, layout) }
    }
}
