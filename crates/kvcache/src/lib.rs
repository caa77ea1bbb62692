//! The bookkeeping of the key-value cache: it assigns the pages of a shared pool to sequences. Data, kernels and
//! buffers belong to the engine; a page is a number that stands for the same position in every layer of a group.
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
