//! How a kernel is written: a function from a step of a plan to dispatches of shaders.

use crate::shader::Shader;
use crate::weights::Matrix;
use inkstone_compute::{Grid, Layout};
use inkstone_tensor::{Dim, Op, Sizes, Type};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// The type of the entry in [`Kernel::entry`](inkstone_compute::Kernel) for kernels of this engine, including custom
/// kernels. It is called once for each step of a plan; the error is the reason why the step can't be done so.
pub type Entry = fn(&Call) -> Result<Vec<Dispatch>, String>;

/// No offset, no index.
pub const NONE: u32 = u32::MAX;

/// A step of a plan as its kernel sees it.
pub struct Call<'a> {
    /// The op, which defines its meaning.
    pub op: &'a Op,
    /// The operands.
    pub ins: SmallVec<[Operand; 4]>,
    /// The results; a state that the step writes has the place of its operand.
    pub outs: SmallVec<[Operand; 2]>,
    /// Upper bounds of the plan.
    pub bucket: Sizes,
    /// The first word of the step's scratch among the activations.
    pub scratch: u32,
}

/// An operand or a result.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Its type.
    pub ty: Type,
    /// Where it is.
    pub place: Place,
}

/// The place of an operand.
#[derive(Clone, Debug)]
pub enum Place {
    /// Among the activations, from this word on.
    Activations(u32),
    /// A weight of one row, in f32, among the vectors, from this word on.
    Vector(u32),
    /// A weight of several rows.
    Matrix(Arc<Matrix>),
    /// A state, by its id.
    State(u32),
}

/// One dispatch of a shader.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The shader.
    pub shader: Shader,
    /// The words of its parameters, at most 64.
    pub parameters: Vec<u32>,
    /// Its workgroups.
    pub groups: [u32; 3],
    /// The buffers that are bound as `w0`, `w1` and `w2`.
    pub weights: [Source; 3],
    /// The states that are bound as `k` and `v`.
    pub states: [Option<u32>; 2],
}

/// A buffer that a shader reads in addition to the activations.
#[derive(Clone, Debug, Default)]
pub enum Source {
    /// Nothing.
    #[default]
    None,
    /// A piece of a matrix.
    Piece(Arc<Matrix>, usize),
    /// The vectors.
    Vectors,
    /// Words that the host computes: a name that differs where tables differ, and the words. The engine has each table once.
    Table(Arc<str>, Words),
}

/// Computes the words of a table.
#[derive(Clone)]
pub struct Words(Arc<dyn Fn() -> Arc<[u32]> + Send + Sync>);

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("words")
    }
}

impl Words {
    /// Computes them.
    pub(crate) fn make(&self) -> Arc<[u32]> {
        (self.0)()
    }
}

impl Source {
    /// A table with this name.
    pub fn table(name: String, words: impl Fn() -> Arc<[u32]> + Send + Sync + 'static) -> Source {
        Source::Table(name.into(), Words(Arc::new(words)))
    }
}

impl Dispatch {
    /// A shader with these parameters and workgroups.
    pub fn new(shader: Shader, parameters: Vec<u32>, groups: [u32; 3]) -> Dispatch {
        Dispatch { shader, parameters, groups, weights: Default::default(), states: [None; 2] }
    }

    /// The same, which reads a piece of a matrix, or a table, as `w0`.
    #[must_use]
    pub fn reading(mut self, source: Source) -> Dispatch {
        self.weights[0] = source;
        self
    }

    /// The same, with these states as `k` and `v`.
    #[must_use]
    pub fn states(self, k: Option<u32>, v: Option<u32>) -> Dispatch {
        Dispatch { states: [k, v], ..self }
    }
}

impl Operand {
    /// The same, which begins so many words late: a mistake that tests make.
    pub(crate) fn late(mut self, words: u32) -> Operand {
        if let Place::Activations(word) = &mut self.place {
            *word += words;
        }
        self
    }

    /// The first word of a value among the activations.
    ///
    /// # Errors
    /// It is a weight or a state.
    pub fn at(&self) -> Result<u32, String> {
        match self.place {
            Place::Activations(word) => Ok(word),
            _ => Err(format!("operand {} is not an activation", self.ty)),
        }
    }

    /// The first word of a weight of one row among the vectors.
    ///
    /// # Errors
    /// It is another operand.
    pub fn vector(&self) -> Result<u32, String> {
        match self.place {
            Place::Vector(word) => Ok(word),
            _ => Err(format!("operand {} is not a weight of one row", self.ty)),
        }
    }

    /// A weight of several rows.
    ///
    /// # Errors
    /// It is another operand.
    pub fn matrix(&self) -> Result<&Arc<Matrix>, String> {
        match &self.place {
            Place::Matrix(matrix) => Ok(matrix),
            _ => Err(format!("operand {} is not a matrix", self.ty)),
        }
    }

    /// The id of a state.
    ///
    /// # Errors
    /// It is another operand.
    pub fn state(&self) -> Result<u32, String> {
        match self.place {
            Place::State(id) => Ok(id),
            _ => Err(format!("operand {} is not a state", self.ty)),
        }
    }
}

impl Call<'_> {
    /// The dimension along which the work is cut.
    fn along(&self) -> Dim {
        let types = |operands: &[Operand]| operands.iter().map(|operand| operand.ty).collect::<SmallVec<[Type; 4]>>();
        Grid::along(&types(&self.ins), &types(&self.outs))
    }

    /// The most rows of the step: of the bucket.
    pub fn rows(&self) -> u32 {
        self.along().at(&self.bucket) as u32
    }

    /// The two words that every kernel's parameters begin with: the most rows, and the word of the step's header that has
    /// their true number.
    pub fn rows_words(&self) -> [u32; 2] {
        let from = match self.along() {
            Dim::Rows => 0,
            Dim::LogitRows => 4,
            _ => NONE,
        };
        [self.rows(), from]
    }

    /// The words of [`Call::rows_words`], then these.
    pub fn parameters(&self, words: &[u32]) -> Vec<u32> {
        self.rows_words().into_iter().chain(words.iter().copied()).collect()
    }
}

/// A number of columns, places or words as a word.
///
/// # Errors
/// It is too large.
pub fn word(value: usize) -> Result<u32, String> {
    u32::try_from(value).map_err(|_| format!("{value} is more than 32 bits hold"))
}

/// The layout of matrices of this engine.
pub const PLANES32: Layout = Layout("planes32");
