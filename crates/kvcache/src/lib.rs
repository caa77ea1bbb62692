//! The books of the key-value cache: which page of a shared pool belongs to which sequence. Data, kernels and buffers are
//! the engine's; a page is a number that means the same place in every layer of a group.
//!
//! ```
//! use inkstone_kvcache::{PageTable, Pool};
//!
//! let mut pool = Pool::new(1024, 32)?;
//! let mut table = PageTable::default();
//! pool.grow(&mut table, 100)?; // 4 pages of 32 tokens
//! assert_eq!((table.pages().len(), pool.available()), (4, 28));
//! pool.release(&mut table);
//! # Ok::<(), inkstone_kvcache::Error>(())
//! ```

mod error;
mod format;
mod pool;

pub use error::Error;
pub use format::{FORMATS, Format};
pub use pool::{MAX_PAGE, PageTable, Pool};
