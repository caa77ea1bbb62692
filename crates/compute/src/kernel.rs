//! Kernels as data: the op, the operands, the work, and an entry that only the engine understands. The choice of a
//! kernel is a query that also returns reasons.

use crate::engine::Caps;
use crate::plan::Grid;
use crate::{Error, Result};
use inkstone_tensor::{DType, Op, Sizes, Slots, Type};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The layout of a weight in memory. Engines define their own layouts; every engine may use [`Layout::FILE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout(pub &'static str);

impl Layout {
    /// Rows one after the other, as in the file.
    pub const FILE: Layout = Layout("file");
}

/// The arithmetic of a result: format of activations, lanes, segments of sums, rounding of intermediate values. Kernels
/// with the same numerics compute equal bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Numerics(pub &'static str);

impl Numerics {
    /// The arithmetic of the definitions: f32 data, sums in f64 in index order.
    pub const DEFINITION: Numerics = Numerics("f64");
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Display for Numerics {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.0)
    }
}

/// The ops that a kernel implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The op or region of this name.
    Named(&'static str),
    /// Every op but regions.
    AnyOp,
}

impl Pattern {
    /// Whether it covers `op`.
    pub fn covers(self, op: &Op) -> bool {
        match self {
            Pattern::Named(name) => op.name() == name,
            Pattern::AnyOp => !matches!(op, Op::Region(_)),
        }
    }
}

/// How a kernel cuts its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Rows per tile; `usize::MAX` for all.
    pub row_block: usize,
    /// Columns of one result a tile; `usize::MAX` for all columns of all results. See [`Grid::columns`](crate::Grid).
    pub col_block: usize,
}

impl Tiling {
    /// One tile.
    pub const WHOLE: Tiling = Tiling { row_block: usize::MAX, col_block: usize::MAX };
}

/// A step as a kernel sees it when its work is decided.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Shape<'a> {
    /// The op.
    pub op: &'a Op,
    /// Types of the operands.
    pub ins: &'a [Type],
    /// Types of the results.
    pub outs: &'a [Type],
    /// Upper bounds of the plan, without the places of caches: their number is chosen when the size of everything else is
    /// known, so the work does not depend on it.
    pub bucket: Sizes,
    /// The device.
    pub caps: &'a Caps,
}

impl<'a> Shape<'a> {
    /// Of a step in a plan with these upper bounds.
    pub fn new(op: &'a Op, ins: &'a [Type], outs: &'a [Type], bucket: &Sizes, caps: &'a Caps) -> Shape<'a> {
        Shape { op, ins, outs, bucket: Sizes { slots: Slots::default(), ..*bucket }, caps }
    }
}

/// The work of a kernel in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// How its tiles are cut.
    pub tiling: Tiling,
    /// Bytes of scratch: memory of the step that holds nothing before the step and nothing after it.
    pub scratch: u64,
    /// The tiles of a first phase. They read the operands and leave their results in the scratch, before the tiles of
    /// the step read them there. They may run while tiles of earlier steps do. A first phase is cut along the same
    /// rows as the step ([`Grid::along`]) and needs scratch.
    pub first: Option<Grid>,
}

impl Work {
    /// One tile.
    pub const WHOLE: Work = Work::of(Tiling::WHOLE);

    /// Only tiles, without scratch.
    pub const fn of(tiling: Tiling) -> Work {
        Work { tiling, scratch: 0, first: None }
    }
}

/// A row of a registry.
#[derive(Clone)]
pub struct Kernel {
    /// Unique in its registry.
    pub name: &'static str,
    /// The ops that it implements.
    pub implements: Pattern,
    /// Features of the device that it needs (names as in [`Caps::features`]).
    pub requires: &'static [&'static str],
    /// Its arithmetic. The kernel of a region declares the arithmetic of each member instead.
    pub numerics: Numerics,
    /// For the kernel of a region: the names of the member ops, with its arithmetic for each. A region is fused only if
    /// the separate members would have the same arithmetic, so that both compute the same bits.
    pub members: &'static [(&'static str, Numerics)],
    /// Dtypes of weights that it reads; empty: all that can be decoded.
    pub weights: &'static [DType],
    /// Layouts of weights that it reads.
    pub layouts: &'static [Layout],
    /// The dtype of its activations, or of the activations of products in the kernel of a region; `None`: activations
    /// are not converted.
    pub activations: Option<DType>,
    /// Most rows of a step.
    pub rows: usize,
    /// Its work in a step.
    pub work: fn(&Shape) -> Work,
    /// Why it refuses a step for a reason of its own (the size of heads, the memory that a tile needs), in a few words
    /// for people; `None` if it takes the step. Asked after all other conditions.
    pub refuses: fn(&Query, &Caps) -> Option<String>,
    /// Whether it is only for those who want speed rather than accuracy ([`Accuracy::Fast`]).
    pub fast: bool,
    /// Code; only its engine knows the type.
    pub entry: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("numerics", &self.numerics.0).finish_non_exhaustive()
    }
}

/// A question to a registry: which kernel for this op on these operands?
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// The op.
    pub op: &'a Op,
    /// Dtypes and layouts of the weights among its operands (matrices; vectors are always [`Layout::FILE`]).
    pub weights: &'a [(DType, Layout)],
    /// The arithmetic that these weights were given; `None`: any.
    pub numerics: Option<Numerics>,
    /// The members of a region and the arithmetic that each must have; none: any.
    pub members: &'a [(&'a str, Numerics)],
    /// Rows of the bucket.
    pub rows: usize,
    /// Types of the operands. Before layouts are chosen, activations are not yet converted to the dtype of the kernel.
    pub ins: &'a [Type],
    /// Types of the results.
    pub outs: &'a [Type],
}

/// The answer: the first kernel that fits, and why those before it did not.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    /// The winner.
    pub kernel: &'a Kernel,
    /// A line for each kernel of the op that was refused.
    pub refused: Vec<String>,
}

/// The kernels of an engine, in order of preference.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Name of the engine.
    pub engine: &'static str,
    /// Layouts that weights can have, best first.
    pub layouts: Vec<Layout>,
    /// Best first.
    pub kernels: Vec<Kernel>,
    /// The number of custom kernels, which come first. A region of the engine never replaces an op of a custom kernel.
    pub outside: usize,
}

impl Registry {
    /// The first kernel that fits.
    ///
    /// # Errors
    /// [`Error::NoKernel`] with the reason of each that does not.
    pub fn find(&self, query: &Query, caps: &Caps) -> Result<Choice<'_>> {
        let mut refused = Vec::new();
        for kernel in self.kernels.iter().filter(|k| k.implements.covers(query.op)) {
            match kernel.refusal(query, caps) {
                None => return Ok(Choice { kernel, refused }),
                Some(reason) => refused.push(format!("{} ({reason})", kernel.name)),
            }
        }
        let operands: Vec<String> = query.weights.iter().map(|(d, l)| format!("{d} in layout {l}")).collect();
        Err(Error::NoKernel {
            engine: self.engine.to_owned(),
            op: query.op.name().to_owned(),
            operands: format!("[{}], {} rows", operands.join(", "), query.rows),
            reasons: if refused.is_empty() { "none implements it".to_owned() } else { refused.join(", ") },
        })
    }

    /// Whether a kernel is a custom kernel.
    pub fn is_outside(&self, kernel: &Kernel) -> bool {
        self.kernels.iter().take(self.outside).any(|k| k.name == kernel.name)
    }

    /// The kernel of this name.
    pub fn get(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == name)
    }
}

impl Kernel {
    /// A kernel with the arithmetic of the definitions, one tile, and weights of every dtype in the layout of the file.
    /// Other kernels are described with struct update syntax.
    pub fn by_definition(name: &'static str, implements: Pattern, entry: Arc<dyn Any + Send + Sync>) -> Kernel {
        Kernel {
            name,
            implements,
            requires: &[],
            numerics: Numerics::DEFINITION,
            members: &[],
            weights: &[],
            layouts: &[Layout::FILE],
            activations: None,
            rows: usize::MAX,
            fast: false,
            work: |_| Work::WHOLE,
            refuses: |_, _| None,
            entry,
        }
    }

    /// The arithmetic that a region's kernel has for a member op; `None`: it does not do this op.
    pub fn member(&self, op: &str) -> Option<Numerics> {
        self.members.iter().find(|(name, _)| *name == op).map(|(_, numerics)| *numerics)
    }

    /// Why it can't answer a query; `None` if it can.
    fn refusal(&self, q: &Query, caps: &Caps) -> Option<String> {
        if let Some(missing) = self.requires.iter().find(|f| !caps.features.contains(f)) {
            return Some(format!("needs {missing}"));
        }
        if let Some((dtype, _)) = q.weights.iter().find(|(d, _)| !self.weights.is_empty() && !self.weights.contains(d))
        {
            return Some(format!("no {dtype} weights"));
        }
        if let Some((_, layout)) = q.weights.iter().find(|(_, l)| !self.layouts.contains(l)) {
            return Some(format!("no layout {layout}"));
        }
        if let Some(numerics) = q.numerics.filter(|n| *n != self.numerics) {
            return Some(format!("numerics {}, not {numerics}", self.numerics));
        }
        for (op, numerics) in q.members {
            match self.member(op) {
                None => return Some(format!("does no {op}")),
                Some(own) if own != *numerics => return Some(format!("numerics {own} of {op}, not {numerics}")),
                Some(_) => {}
            }
        }
        if q.rows > self.rows {
            return Some(format!("{} rows > {}", q.rows, self.rows));
        }
        (self.refuses)(q, caps)
    }
}

/// The arithmetic that the kernels of the engine may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accuracy {
    /// Weights as they are, and sums of them in f32 or better.
    #[default]
    Precise,
    /// Also what gives up some accuracy for speed, where the engine has kernels for it on this device; elsewhere as
    /// `Precise`.
    Fast,
}

impl Accuracy {
    /// All, the default first.
    pub const ALL: [Accuracy; 2] = [Accuracy::Precise, Accuracy::Fast];

    /// Its name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Accuracy::Precise => "precise",
            Accuracy::Fast => "fast",
        }
    }
}

/// Options that all engines take.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EngineOptions {
    /// Threads; 0: as many as the machine has.
    pub threads: usize,
    /// The bytes that buffers and weights may use; 0: the memory of the device.
    pub budget: u64,
    /// Custom kernels, which precede the kernels of the engine.
    pub kernels: Vec<Kernel>,
    /// Names of kernels that are switched off.
    pub without: Vec<String>,
    /// Name of the only instruction set or variant to use; `None`: all that the machine has.
    pub isa: Option<String>,
    /// The device: a part of its name, or its number in the list of the engine; `None`: the best one.
    pub device: Option<String>,
    /// The arithmetic that the kernels of the engine may have.
    pub numerics: Accuracy,
    /// Whether weights are used in place in the layout of their source, instead of copied in the best layouts of the
    /// engine. This is slower, but needs no memory except the map of the file.
    pub in_place: bool,
    /// For an engine that was not asked for by its name ([`Engines::AUTO`](crate::Engines::AUTO)): the bytes of the
    /// weights that it is to load, 0 if they are unknown. Such an engine may refuse to open where another one is faster.
    pub auto: Option<u64>,
    /// Whether executables record the times of their steps ([`Executable::times`](crate::Executable)).
    pub profile: bool,
}

impl EngineOptions {
    /// With so many threads.
    pub fn threads(self, threads: usize) -> Self {
        EngineOptions { threads, ..self }
    }
    /// With so many bytes.
    pub fn budget(self, budget: u64) -> Self {
        EngineOptions { budget, ..self }
    }
    /// Adds a custom kernel.
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernels.push(kernel);
        self
    }
    /// Without the kernel of this name.
    pub fn without_kernel(mut self, name: impl Into<String>) -> Self {
        self.without.push(name.into());
        self
    }
    /// Limits the kernels to one instruction set.
    pub fn isa(self, name: impl Into<String>) -> Self {
        EngineOptions { isa: Some(name.into()), ..self }
    }
    /// On the device with this name or number.
    pub fn device(self, name: impl Into<String>) -> Self {
        EngineOptions { device: Some(name.into()), ..self }
    }
    /// With this arithmetic.
    pub fn numerics(self, numerics: Accuracy) -> Self {
        EngineOptions { numerics, ..self }
    }
    /// Whether weights stay where they are.
    pub fn in_place(self, in_place: bool) -> Self {
        EngineOptions { in_place, ..self }
    }
    /// For an engine that was not asked for by its name, and weights of so many bytes.
    pub fn auto(self, weight_bytes: u64) -> Self {
        EngineOptions { auto: Some(weight_bytes), ..self }
    }
    /// With the times of steps.
    pub fn profile(self, profile: bool) -> Self {
        EngineOptions { profile, ..self }
    }
    /// The registry of an engine with these options applied.
    pub fn apply(&self, engine: &'static str, layouts: Vec<Layout>, own: Vec<Kernel>) -> Registry {
        let on = |k: &Kernel| !self.without.iter().any(|w| w == k.name);
        let mut kernels: Vec<Kernel> = self.kernels.iter().filter(|k| on(k)).cloned().collect();
        let outside = kernels.len();
        let allowed = |k: &Kernel| !k.fast || self.numerics == Accuracy::Fast;
        kernels.extend(own.into_iter().filter(|k| on(k) && allowed(k)));
        Registry { engine, layouts, kernels, outside }
    }
}
