use inkstone_tensor::ErrorKind;

/// An error of a page pool or a prefix tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No cache format has this name.
    #[error("no cache format {name}; there are: {known}")]
    UnknownFormat {
        /// The requested value.
        name: String,
        /// The known names.
        known: String,
    },
    /// The number of tokens per page is invalid.
    #[error("a cache page of {tokens} tokens: allowed are powers of two up to {most}")]
    PageSize {
        /// The requested value.
        tokens: usize,
        /// The largest size that is allowed.
        most: usize,
    },
    /// The pool is smaller than a page.
    #[error("a cache of {tokens} tokens is smaller than one page of {page}")]
    TooSmall {
        /// The requested value.
        tokens: usize,
        /// Tokens per page.
        page: usize,
    },
    /// The memory for page numbers can't be allocated.
    #[error("no memory for the numbers of {pages} cache pages")]
    NoMemory {
        /// Pages of the pool, or of a page table.
        pages: usize,
    },
    /// Too few pages are free.
    #[error("no cache page left: {wanted} wanted, {free} of {capacity} free")]
    NoPages {
        /// Pages requested.
        wanted: usize,
        /// Free pages.
        free: usize,
        /// All pages of the pool.
        capacity: usize,
    },
    /// No table of the pool holds this page: the table belongs to another pool.
    #[error("cache page {page} of a page table: no table of this pool holds it")]
    NotHeld {
        /// The page.
        page: u32,
    },
    /// A table can't adopt this page: it has no contents.
    #[error("cache page {page} is free, or not one of the {capacity} pages of the pool")]
    FreePage {
        /// The page.
        page: u32,
        /// All pages of the pool.
        capacity: usize,
    },
    /// The positions are not in the table.
    #[error("positions {start}..{end} of a page table with {len} tokens")]
    Positions {
        /// The first position.
        start: usize,
        /// The position behind the last one.
        end: usize,
        /// Tokens that the table covers.
        len: usize,
    },
    /// No pages can be appended, because the last page of the table is not full.
    #[error("pages for a page table with {len} tokens: allowed are multiples of {page} tokens")]
    Boundary {
        /// Tokens that the table covers.
        len: usize,
        /// Tokens per page.
        page: usize,
    },
    /// The length does not fit the pages.
    #[error("a page table with {len} tokens: its pages allow {least} to {most}")]
    Length {
        /// The requested value, in tokens.
        len: usize,
        /// The least length that needs all pages.
        least: usize,
        /// The tokens of all pages.
        most: usize,
    },
    /// The page is a node of the prefix tree with another text.
    #[error("cache page {page} is a node with another text than tokens {start}..{end} of the page table")]
    OtherText {
        /// The page.
        page: u32,
        /// The first token of the page.
        start: usize,
        /// The token behind the last one that was given.
        end: usize,
    },
    /// The pool has a prefix tree already.
    #[error("a second prefix tree for a pool of {pages} cache pages: one is allowed")]
    SecondTree {
        /// Pages of the pool.
        pages: usize,
    },
    /// The layer groups are not allowed.
    #[error(
        "{groups} layer groups, the first of which keeps {first}: allowed are 1 to {most}, the first with all positions"
    )]
    Groups {
        /// Their number.
        groups: usize,
        /// The positions that the first one keeps.
        first: &'static str,
        /// The most groups.
        most: usize,
    },
    /// The prefix tree belongs to another pool.
    #[error("a prefix tree of {nodes} cache pages, with a pool that is not its own")]
    OtherPool {
        /// Nodes of the tree.
        nodes: usize,
    },
}

impl Error {
    /// The kind of the error: how a program reacts to it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::UnknownFormat { .. } | Error::PageSize { .. } | Error::TooSmall { .. } | Error::Groups { .. } => {
                ErrorKind::InvalidRequest
            }
            Error::NoMemory { .. } => ErrorKind::OutOfMemory,
            Error::NoPages { .. } => ErrorKind::Busy,
            Error::NotHeld { .. }
            | Error::FreePage { .. }
            | Error::Positions { .. }
            | Error::Boundary { .. }
            | Error::Length { .. }
            | Error::OtherText { .. }
            | Error::SecondTree { .. }
            | Error::OtherPool { .. } => ErrorKind::Engine,
        }
    }
}
