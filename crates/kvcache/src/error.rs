use inkstone_tensor::ErrorKind;

/// An error of a page pool.
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
    /// All pages are in use.
    #[error("no cache page left: {wanted} wanted, {free} of {capacity} free")]
    NoPages {
        /// Pages requested.
        wanted: usize,
        /// Free pages.
        free: usize,
        /// All pages of the pool.
        capacity: usize,
    },
}

impl Error {
    /// The kind of the error: how a program reacts to it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::UnknownFormat { .. } | Error::PageSize { .. } | Error::TooSmall { .. } => ErrorKind::InvalidRequest,
            Error::NoMemory { .. } => ErrorKind::OutOfMemory,
            Error::NoPages { .. } => ErrorKind::Busy,
        }
    }
}
