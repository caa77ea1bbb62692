//! Types of values: a dtype and a matrix shape whose number of rows may be a symbol.

use crate::DType;
use crate::step::GROUPS;
use std::fmt;

/// A number of rows: known when a model is traced, or only when a step is composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dim {
    /// A number.
    N(usize),
    /// The tokens of the step.
    Rows,
    /// The rows of the step whose logits are wanted.
    LogitRows,
    /// The places of a cache ([`Cache`](crate::cache::Cache)): pages times tokens per page, for each head.
    Slots {
        /// The layer group, whose page tables lead to the places.
        group: usize,
        /// The number of heads that are stored separately.
        heads: usize,
    },
}

/// Values of the symbols: upper bounds in a plan (its bucket), true counts in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Sizes {
    /// [`Dim::Rows`].
    pub rows: usize,
    /// [`Dim::LogitRows`].
    pub logit_rows: usize,
    /// [`Dim::Slots`].
    pub slots: Slots,
}

/// The places of one head in the caches of each layer group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Slots([usize; GROUPS]);

impl Slots {
    /// By layer group.
    pub const fn new(of_groups: [usize; GROUPS]) -> Slots {
        Slots(of_groups)
    }

    /// All caches are in group 0.
    pub const fn one_group(slots: usize) -> Slots {
        let mut of_groups = [0; GROUPS];
        of_groups[0] = slots;
        Slots(of_groups)
    }

    /// The same number in each group.
    pub const fn every_group(slots: usize) -> Slots {
        Slots([slots; GROUPS])
    }

    /// In the caches of a group; none if there is no such group.
    pub fn of(&self, group: usize) -> usize {
        self.0.get(group).copied().unwrap_or(0)
    }
}

impl fmt::Display for Slots {
    /// Up to the last group that has places.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let groups = self.0.iter().rposition(|n| *n > 0).map_or(1, |last| last + 1);
        let numbers: Vec<String> = self.0[..groups].iter().map(usize::to_string).collect();
        f.write_str(&numbers.join(", "))
    }
}

impl Dim {
    /// The number that stands for this dimension.
    pub fn at(self, sizes: &Sizes) -> usize {
        match self {
            Dim::N(n) => n,
            Dim::Rows => sizes.rows,
            Dim::LogitRows => sizes.logit_rows,
            Dim::Slots { group, heads } => sizes.slots.of(group).saturating_mul(heads),
        }
    }

    /// The layer group of a cache; 0 for other values.
    pub fn group(self) -> usize {
        if let Dim::Slots { group, .. } = self { group } else { 0 }
    }

    /// The number of heads of a cache that are stored separately; 1 for other values.
    pub fn heads(self) -> usize {
        if let Dim::Slots { heads, .. } = self { heads.max(1) } else { 1 }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Dim::N(n) => write!(f, "{n}"),
            Dim::Rows => f.write_str("Rows"),
            Dim::LogitRows => f.write_str("LogitRows"),
            Dim::Slots { group, heads } => {
                if *heads != 1 {
                    write!(f, "{heads} ")?;
                }
                f.write_str("Slots")?;
                if *group == 0 { Ok(()) } else { write!(f, "({group})") }
            }
        }
    }
}

/// The type of a value: a matrix whose rows are whole blocks of `dtype`. `state` marks linear values: consumed at
/// most once, and updated in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Encoding of the elements.
    pub dtype: DType,
    /// Number of rows.
    pub rows: Dim,
    /// Values in a row.
    pub cols: usize,
    /// Whether it is a state.
    pub state: bool,
}

impl Type {
    /// A matrix of `dtype`.
    pub const fn new(dtype: DType, rows: Dim, cols: usize) -> Type {
        Type { dtype, rows, cols, state: false }
    }
    /// A matrix of f32.
    pub const fn f32(rows: Dim, cols: usize) -> Type {
        Type::new(DType::F32, rows, cols)
    }
    /// A matrix of u32.
    pub const fn u32(rows: Dim, cols: usize) -> Type {
        Type::new(DType::U32, rows, cols)
    }
    /// The same as a state.
    pub const fn state(self) -> Type {
        Type { state: true, ..self }
    }
    /// Bytes of a row; `u64::MAX` if a row is not a whole number of blocks (which does not occur in checked types).
    pub fn row_bytes(&self) -> u64 {
        self.dtype.row_bytes(self.cols).map_or(u64::MAX, |b| b as u64)
    }
    /// Bytes of the whole, saturating.
    pub fn bytes(&self, sizes: &Sizes) -> u64 {
        self.row_bytes().saturating_mul(self.rows.at(sizes) as u64)
    }
    /// Elements of the whole, saturating.
    pub fn elements(&self, sizes: &Sizes) -> u64 {
        (self.cols as u64).saturating_mul(self.rows.at(sizes) as u64)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let state = if self.state { "state " } else { "" };
        let dtype = self.dtype.name().to_ascii_lowercase();
        write!(f, "{state}{dtype}[{}, {}]", self.rows, self.cols)
    }
}
