//! How a file is opened, and what is too much.

/// How [`Gguf::open`](crate::Gguf::open) reads a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Map the tensor data (default), or read a tensor into memory when it is asked for. The operating system ends a
    /// program that reads a map whose file was cut meanwhile; without the map that is an error value.
    pub mmap: bool,
    /// What is refused as too large.
    pub limits: Limits,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions { mmap: true, limits: Limits::default() }
    }
}

impl OpenOptions {
    /// Sets [`mmap`](Self::mmap).
    pub fn mmap(mut self, mmap: bool) -> Self {
        self.mmap = mmap;
        self
    }

    /// Sets [`limits`](Self::limits).
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// What is refused although the format allows it. Counts and lengths need no limit of their own: they are held
/// against the bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of all that comes before the tensor data: 512 MiB. The reader keeps it in memory.
    pub head: u64,
    /// Dimensions of a tensor: 4.
    pub dims: u32,
    /// Bytes of a tensor's name: 255.
    pub name: u64,
    /// Bytes of a key: 65,535, as the format says.
    pub key: u64,
    /// Largest alignment: 1 MiB. Always a power of two, and at least 8.
    pub alignment: u64,
    /// Arrays inside each other: 4, where an array of numbers is 1.
    pub nesting: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { head: 512 << 20, dims: 4, name: 255, key: 65_535, alignment: 1 << 20, nesting: 4 }
    }
}
