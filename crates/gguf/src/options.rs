//! Options and limits for opening a file.

/// How [`Gguf::open`](crate::Gguf::open) reads a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Map the tensor data (default), or read each tensor into memory on demand. If another program truncates the file,
    /// the operating system ends a program that reads the lost part of a map; without the map the read returns an
    /// error.
    pub mmap: bool,
    /// Limits on the head of the file.
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

/// Limits that are stricter than the format. Counts and lengths need no limit of their own: the reader compares them
/// with the size of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes before the tensor data: 512 MiB. The reader keeps them in memory.
    pub head: u64,
    /// Dimensions of a tensor: 4.
    pub dims: u32,
    /// Bytes of a tensor's name: 255.
    pub name: u64,
    /// Bytes of a key: 65,535, as the format says.
    pub key: u64,
    /// Largest alignment: 1 MiB. Always a power of two, and at least 8.
    pub alignment: u64,
    /// Nesting depth of arrays: 4, where an array of numbers has depth 1.
    pub nesting: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { head: 512 << 20, dims: 4, name: 255, key: 65_535, alignment: 1 << 20, nesting: 4 }
    }
}
