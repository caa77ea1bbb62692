//! Weights by name: compares the expectations of the model with the tensors of the source.

use super::{Tracer, Value};
use crate::graph::Source;
use crate::{Error, Result};
use inkstone_tensor::{DTYPES, Dim, Type, WeightInfo};

impl Tracer<'_> {
    /// Whether there is a tensor of this name, for those that a model can do without.
    pub fn has(&self, name: &str) -> bool {
        self.weights.has(name)
    }

    /// The matrix of this name: `rows` rows of `cols` values, of any dtype. Messages print dimensions in the order of
    /// the file, which is `[cols, rows]`.
    ///
    /// # Errors
    /// The tensor is missing or has another shape, or its dtype is not supported or does not fit its rows.
    pub fn weight(&self, name: &str, rows: usize, cols: usize) -> Result<Value> {
        self.declare(name, Dim::N(rows), cols, &[cols as u64, rows as u64])
    }

    /// The vector of this name: `n` values.
    ///
    /// # Errors
    /// As [`Tracer::weight`].
    pub fn vector(&self, name: &str, n: usize) -> Result<Value> {
        self.declare(name, Dim::N(1), n, &[n as u64])
    }

    fn declare(&self, name: &str, rows: Dim, cols: usize, expected: &[u64]) -> Result<Value> {
        let (tensor, expected_dims) = (|| name.to_owned(), || format!("{expected:?}"));
        let Some(WeightInfo { dtype, dims }) = self.weights.info(name) else {
            // A source may know more of why: not in which file, or of a type that is in no table.
            let reason = self.weights.bytes(name).err().map_or_else(|| "it has no known type".to_owned(), |e| e.reason);
            return Err(Error::MissingWeight { tensor: tensor(), expected: expected_dims(), reason });
        };
        if without_ones(&dims) != without_ones(expected) {
            return Err(Error::WeightShape { tensor: tensor(), found: format!("{dims:?}"), expected: expected_dims() });
        }
        if dtype.info().decode.is_none() {
            let names = DTYPES.iter().filter(|i| i.decode.is_some()).map(|i| i.name);
            let allowed = names.collect::<Vec<_>>().join(", ");
            return Err(Error::WeightType { tensor: tensor(), dtype, allowed });
        }
        if dtype.row_bytes(cols).is_none_or(|bytes| bytes == 0) {
            return Err(Error::WeightBlocks { tensor: tensor(), dtype, cols, block: dtype.block() });
        }
        let ty = Type::new(dtype, rows, cols);
        Ok(Value { id: self.source(Source::Weight(name.into()), ty), ty })
    }
}

/// Dimensions of 1 at the end say nothing: a vector is `[n]` as well as `[n, 1]`.
fn without_ones(dims: &[u64]) -> &[u64] {
    let end = dims.iter().rposition(|d| *d != 1).map_or(0, |i| i + 1);
    &dims[..end]
}
