//! The bookkeeping of the key-value cache: it assigns the pages of a shared pool to sequences. Data, kernels and
//! buffers belong to the engine; a page is a number that stands for the same position in every layer of a group.
//!
//! A [`PageTable`] lists the pages of a sequence. Sequences share pages until they write: [`Pool::fork`] copies a table,
//! [`Pool::write`] gives a sequence pages of its own and says which places the engine must copy. A [`PrefixTree`] finds
//! the pages of earlier prompts with the same beginning.
//!
//! ```
//! use inkstone_kvcache::{PageTable, Pool};
//!
//! let mut pool = Pool::new(1024, 32)?;
//! let mut table = PageTable::default();
//! pool.grow(&mut table, 100)?; // 4 pages of 32 tokens
//! assert_eq!((table.pages().len(), table.len(), pool.available()), (4, 100, 28));
//! pool.release(&mut table)?;
//! # Ok::<(), inkstone_kvcache::Error>(())
//! ```

mod caches;
mod error;
mod format;
mod pool;
mod salt;
mod table;
mod tree;

pub use caches::{Caches, Copies, Found};
pub use error::Error;
pub use format::{FORMATS, Format};
pub use pool::{MAX_PAGE, Pool};
pub use salt::{Salt, Salts};
pub use table::{GONE, PageCopy, PageTable, Tables};
pub use tree::{Hit, Partial, PrefixTree, Stats};
