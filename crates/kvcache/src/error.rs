/// What can go wrong with pages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No format of that name.
    #[error("no cache format {name}; there are: {known}")]
    UnknownFormat {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A page must hold something.
    #[error("a cache page of {tokens} tokens: allowed are powers of two up to {most}")]
    PageSize {
        /// What was asked for.
        tokens: usize,
        /// The largest.
        most: usize,
    },
    /// The pool is smaller than a page.
    #[error("a cache of {tokens} tokens is smaller than one page of {page}")]
    TooSmall {
        /// What was asked for.
        tokens: usize,
        /// Tokens a page.
        page: usize,
    },
    /// No memory for the books.
    #[error("no memory for the numbers of {pages} cache pages")]
    NoMemory {
        /// Pages of the pool or of a table.
        pages: usize,
    },
    /// All pages are in use.
    #[error("no cache page left: {wanted} wanted, {free} of {capacity} free")]
    NoPages {
        /// How many were asked for.
        wanted: usize,
        /// How many are free.
        free: usize,
        /// How many there are.
        capacity: usize,
    },
}
