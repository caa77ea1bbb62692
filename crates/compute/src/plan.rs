//! The compiled program, as plain data: no pointers, no engine types. Each step carries its op, which is its meaning,
//! and the name of a kernel, which is a choice; so every engine that knows the op can run the plan.

use crate::kernel::{Layout, Numerics, Tiling};
use inkstone_tensor::{DType, Dim, Op, Sizes, Type, fnv1a};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A place of values that pass from one plan to the next, or to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// The number of its model among those that are compiled together: 0 is the target, drafters follow.
    pub of: u8,
    /// The values.
    pub what: What,
}

/// The values of a [`Port`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum What {
    /// Token, position and sequence of each row.
    Rows,
    /// The last layer's residual.
    Hidden,
    /// Logits of the chosen rows.
    Logits,
    /// A token or a status a chosen row.
    Records,
    /// Log-probabilities, on request.
    Scores,
}

impl Port {
    /// [`What::Rows`] of the target.
    pub const ROWS: Port = Port { of: 0, what: What::Rows };
    /// [`What::Hidden`] of the target.
    pub const HIDDEN: Port = Port { of: 0, what: What::Hidden };
    /// [`What::Logits`] of the target.
    pub const LOGITS: Port = Port { of: 0, what: What::Logits };
    /// [`What::Records`] of the target.
    pub const RECORDS: Port = Port { of: 0, what: What::Records };
    /// [`What::Scores`] of the target.
    pub const SCORES: Port = Port { of: 0, what: What::Scores };

    /// The same port of another model.
    pub const fn of_model(self, of: u8) -> Port {
        Port { of, ..self }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&format!("{:?}", self.what).to_lowercase())?;
        if self.of == 0 { Ok(()) } else { write!(f, "({})", self.of) }
    }
}

/// Which memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Region {
    /// Values between steps of a plan.
    Arena,
    /// The weight with this id.
    Weight(u32),
    /// The state with this id.
    State(u32),
    /// A port.
    Port(Port),
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Region::Arena => f.write_str("arena"),
            Region::Weight(i) => write!(f, "w{i}"),
            Region::State(i) => write!(f, "state{i}"),
            Region::Port(p) => write!(f, "{p}"),
        }
    }
}

/// How the tiles of a step cut an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cut {
    /// By blocks of rows.
    pub rows: bool,
    /// By blocks of columns.
    pub cols: bool,
}

/// An operand or result of a step: a range of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// In which memory.
    pub region: Region,
    /// First byte.
    pub offset: u64,
    /// Type; its size at the bucket is the size of the range.
    pub ty: Type,
    /// The value at this place (an id within the plan), for checks.
    pub value: u32,
    /// Whether the step writes it.
    pub write: bool,
    /// How tiles cut it.
    pub cut: Cut,
}

/// The tiles of a step: blocks of rows (as many as the step has, at most the bucket) times blocks of columns. Blocks of
/// columns cover the results that are cut by columns one after the other: a tile owns columns of only one result. In a
/// cache that is cut by columns, each block owns the rows of some heads at all places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// The dimension that is cut into blocks of rows.
    pub rows: Dim,
    /// Rows per tile; `usize::MAX` for all.
    pub row_block: usize,
    /// Columns of one result a tile; `usize::MAX` for all columns of all results.
    pub col_block: usize,
    /// Blocks of columns, of all results together.
    pub col_blocks: usize,
}

impl Grid {
    /// The tiles of a step with these operands and results, as a kernel cuts them.
    pub fn new(tiling: Tiling, ins: &[Type], outs: &[Type]) -> Grid {
        let Tiling { row_block, col_block } = tiling;
        let uncut = Grid { rows: Grid::along(ins, outs), row_block, col_block, col_blocks: 1 };
        if col_block == usize::MAX {
            return uncut;
        }
        let blocks = outs.iter().filter(|t| !t.state).map(|t| uncut.blocks_of(t.cols));
        Grid { col_blocks: blocks.fold(0, usize::saturating_add).max(1), ..uncut }
    }
    /// The cut of an operand or a result by these tiles. A cut does not determine the places of a state that a tile
    /// writes. A cache is cut by heads if each block of columns has the same number of heads.
    pub fn cut(&self, ty: &Type, write: bool) -> Cut {
        Cut {
            rows: self.row_block != usize::MAX && ty.rows == self.rows && !ty.state,
            cols: write && self.col_blocks > 1 && (!ty.state || self.parts(ty)),
        }
    }
    /// Whether a state is a cache that has as many heads for each block of columns.
    pub fn parts(&self, state: &Type) -> bool {
        matches!(state.rows, Dim::Slots { heads, .. }
            if heads > 0 && self.col_blocks > 0 && heads.is_multiple_of(self.col_blocks))
    }
    /// The heads that the tiles of block `block` own of a cache of `heads` heads that is cut.
    pub fn part(&self, block: usize, heads: usize) -> Range<usize> {
        let size = heads / self.col_blocks.max(1);
        block.saturating_mul(size).min(heads)..block.saturating_add(1).saturating_mul(size).min(heads)
    }
    /// Blocks of columns that a cut result takes.
    pub fn blocks_of(&self, cols: usize) -> usize {
        cols.div_ceil(self.col_block.max(1))
    }
    /// The columns that the tiles of block `block` own of a cut result of `cols` columns whose blocks begin with
    /// `first` ([`Step::first_blocks`]); none if the block is another result's.
    pub fn columns(&self, block: usize, first: usize, cols: usize) -> Range<usize> {
        let start = block.checked_sub(first).map_or(cols, |i| i.saturating_mul(self.col_block)).min(cols);
        start..start.saturating_add(self.col_block).min(cols)
    }
    /// The dimension along which the work of an op is cut: the ragged dimension of its results, or else of its operands
    /// (the last operand that has one). The places of a state do not count, because they do not belong to the step.
    pub fn along(ins: &[Type], outs: &[Type]) -> Dim {
        let ragged = |t: &&Type| matches!(t.rows, Dim::Rows | Dim::LogitRows);
        outs.iter().chain(ins.iter().rev()).find(ragged).map_or(Dim::N(1), |t| t.rows)
    }
    /// How many tiles a step of these sizes has. It depends on the step's header only.
    pub fn tiles(&self, sizes: &Sizes) -> usize {
        self.row_blocks(sizes).saturating_mul(self.col_blocks)
    }
    /// How many blocks of rows.
    pub fn row_blocks(&self, sizes: &Sizes) -> usize {
        self.rows.at(sizes).div_ceil(self.row_block.max(1))
    }
}

/// One kernel call.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The op, which defines its meaning.
    pub op: Op,
    /// Which kernel does it.
    pub kernel: String,
    /// The operands, then the results. A state is both, in the same place.
    pub args: SmallVec<[Arg; 8]>,
    /// How it is cut.
    pub grid: Grid,
    /// Bytes of the arena that only this step uses while it runs; empty: none. See [`Work`](crate::Work).
    pub scratch: Range<u64>,
    /// The tiles that run before its own and leave their results in the scratch.
    pub first: Option<Grid>,
    /// Kernels that were refused, and why; for `explain`.
    pub refused: Vec<String>,
}

impl Step {
    /// The block of columns that each result begins with; one that is not cut takes no blocks.
    pub fn first_blocks(&self) -> impl Iterator<Item = usize> {
        self.outs().scan(0usize, |next, a| {
            let first = *next;
            let takes = a.cut.cols && !a.ty.state;
            *next = first.saturating_add(if takes { self.grid.blocks_of(a.ty.cols) } else { 0 });
            Some(first)
        })
    }
    /// The dtypes of the matrices among its operands: of the weights of more than one row.
    pub fn matrices(&self) -> impl Iterator<Item = DType> {
        let matrices = self.ins().filter(|a| matches!(a.region, Region::Weight(_)) && a.ty.rows != Dim::N(1));
        matrices.map(|a| a.ty.dtype)
    }
    /// The operands.
    pub fn ins(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|a| !a.write)
    }
    /// The results.
    pub fn outs(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|a| a.write)
    }
}

/// A weight as plans see it: its id is its place in [`Interface::weights`].
#[derive(Clone, Debug, PartialEq)]
pub struct WeightSlot {
    /// Name in the source.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Its layout in memory, which is the same for all plans.
    pub layout: Layout,
    /// The arithmetic of everything that is computed with it, the same for all plans.
    pub numerics: Numerics,
}

/// A state as plans see it: its id is its place in [`Interface::states`].
#[derive(Clone, Debug, PartialEq)]
pub struct StateSlot {
    /// Name in the graphs.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
}

/// The interface that all plans of a model share: ids of weights and states, and the types of ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// By id.
    pub weights: Vec<WeightSlot>,
    /// By id.
    pub states: Vec<StateSlot>,
    /// Types of the ports that graphs read or write.
    pub ports: Vec<(Port, Type)>,
}

impl Interface {
    /// The id of a state.
    pub fn state(&self, name: &str) -> Option<u32> {
        self.states.iter().position(|s| &*s.name == name).map(|i| i as u32)
    }
    /// The type of a port.
    pub fn port(&self, port: Port) -> Option<Type> {
        self.ports.iter().find(|(p, _)| *p == port).map(|(_, t)| *t)
    }
}

/// A compiled graph for up to `bucket` rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Kind: body, head, select, or several joined by "+".
    pub name: String,
    /// Upper bounds of a step; `slots` is the caches' size.
    pub bucket: Sizes,
    /// In order.
    pub steps: Vec<Step>,
    /// Bytes of the arena.
    pub arena_bytes: u64,
    /// Weights, states, ports.
    pub interface: Arc<Interface>,
}

impl Plan {
    /// How many bytes of a region the plan touches.
    pub fn bytes_of(&self, region: Region) -> u64 {
        let args = self.steps.iter().flat_map(|s| &s.args).filter(|a| a.region == region);
        let ends = args.map(|a| a.offset.saturating_add(a.ty.bytes(&self.bucket)));
        let scratch = self.steps.iter().map(|s| s.scratch.end).filter(|_| region == Region::Arena);
        ends.chain(scratch).max().unwrap_or(0)
    }

    /// One plan that does the work of several, in order. They share one arena, so that one executable, one submit and
    /// one captured graph serve a whole step; ports carry values across. `None` without plans, or if they are not of
    /// one model.
    pub fn link(plans: &[&Plan]) -> Option<Plan> {
        let first = plans.first()?;
        let same =
            plans.iter().all(|p| Arc::ptr_eq(&p.interface, &first.interface) && p.bucket.slots == first.bucket.slots);
        let names: Vec<&str> = plans.iter().map(|p| p.name.as_str()).collect();
        let mut linked = Plan { name: names.join("+"), steps: Vec::new(), ..(*first).clone() };
        let mut values = 0;
        for plan in plans {
            linked.bucket.rows = linked.bucket.rows.max(plan.bucket.rows);
            linked.bucket.logit_rows = linked.bucket.logit_rows.max(plan.bucket.logit_rows);
            linked.arena_bytes = linked.arena_bytes.max(plan.arena_bytes);
            let mut most = 0;
            linked.steps.extend(plan.steps.iter().cloned().map(|mut step| {
                for a in &mut step.args {
                    most = most.max(a.value.saturating_add(1));
                    a.value = a.value.saturating_add(values);
                }
                step
            }));
            values = values.saturating_add(most);
        }
        same.then_some(linked)
    }

    /// A number that differs where plans print differently: FNV-1a over the printed form.
    pub fn key(&self) -> u64 {
        fnv1a(self.to_string().bytes())
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.region)?;
        if self.region == Region::Arena {
            write!(f, "+{}", self.offset)?;
        }
        f.write_str(match (self.cut.rows, self.cut.cols) {
            (false, false) => "",
            (true, false) => "/r",
            (false, true) => "/c",
            (true, true) => "/rc",
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Sizes { rows, logit_rows, slots } = self.bucket;
        write!(f, "plan {}  rows <= {rows}  logit rows <= {logit_rows}  slots {slots}", self.name)?;
        writeln!(f, "  arena {} B", self.arena_bytes)?;
        for (i, step) in self.steps.iter().enumerate() {
            let list = |args: Vec<String>| args.join(" ");
            let ins = list(step.ins().map(Arg::to_string).collect());
            let outs = list(step.outs().map(Arg::to_string).collect());
            let tiles = step.grid.tiles(&self.bucket);
            let unit = if tiles == 1 { "tile " } else { "tiles" };
            writeln!(f, "{i:4} {:14} {:20} {tiles:4} {unit} {ins} -> {outs}", step.op.name(), step.kernel)?;
            if let Some(first) = step.first {
                let tiles = first.tiles(&self.bucket);
                let unit = if tiles == 1 { "tile" } else { "tiles" };
                writeln!(f, "       first phase: {tiles} {unit}")?;
            }
            if !step.scratch.is_empty() {
                let Range { start, end } = step.scratch;
                writeln!(f, "       scratch: arena+{start}, {} B", end.saturating_sub(start))?;
            }
            if !step.op.attributes().is_empty() {
                writeln!(f, "       {}", step.op.attributes())?;
            }
            step.refused.iter().try_for_each(|r| writeln!(f, "       refused: {r}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_cut_by_heads_where_each_block_of_columns_has_as_many() {
        let (x, cache) = (Type::f32(Dim::Rows, 96), |heads| Type::cache(0, DType::F16, heads, 8));
        let tiling = Tiling { col_block: 32, ..Tiling::WHOLE };
        let grid = Grid::new(tiling, &[x, cache(6)], &[x, cache(6)]);
        assert_eq!((grid.col_blocks, grid.cut(&cache(6), true).cols), (3, true));
        assert!(!grid.cut(&cache(6), false).cols, "what is read is whole");
        assert_eq!([0, 1, 2, 3].map(|block| grid.part(block, 6)), [0..2, 2..4, 4..6, 6..6]);
        assert_eq!([1, 3, 4].map(|heads| grid.cut(&cache(heads), true).cols), [false, true, false]);
    }
}
