//! Shared code of the unit tests of passes: shapes without data, a registry with every op, and an op with two results.

use inkstone_compute::{Kernel, Layout, Pattern, Registry};
use inkstone_tensor::body::{Body, Node, Region};
use inkstone_tensor::ops::{Expr, Map, Term};
use inkstone_tensor::{DType, Op, SourceError, Type, WeightBytes, WeightInfo, WeightSource};
use smallvec::smallvec;
use std::sync::Arc;

/// Names, dtypes and dimensions in the order of the file.
pub struct Shapes(pub &'static [(&'static str, DType, &'static [u64])]);

impl WeightSource for Shapes {
    fn info(&self, name: &str) -> Option<WeightInfo> {
        let (_, dtype, dims) = self.0.iter().find(|(n, ..)| *n == name)?;
        Some(WeightInfo { dtype: *dtype, dims: dims.to_vec() })
    }

    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError> {
        Err(SourceError { tensor: name.to_owned(), reason: "not in these shapes".to_owned() })
    }
}

/// A kernel for every op that computes as the definitions do.
pub fn kernel(name: &'static str) -> Kernel {
    Kernel::by_definition(name, Pattern::AnyOp, Arc::new(()))
}

/// A registry like the one of the reference engine.
pub fn registry() -> Registry {
    Registry { engine: "made-up", layouts: vec![Layout::FILE], kernels: vec![kernel("eval")], outside: 0 }
}

/// (x) -> silu(x), gelu(x)
pub fn both(x: Type) -> Op {
    let mut body = Body::default();
    let [input, silu, gelu] = [x; 3].map(|ty| body.value(ty));
    for (term, out) in [(Term::Silu, silu), (Term::Gelu, gelu)] {
        let op = Map(Expr::new(&[Term::In(0), term])).into();
        body.nodes.push(Node { op, ins: smallvec![input], outs: smallvec![out] });
    }
    (body.inputs, body.outputs) = (vec![input], vec![silu, gelu]);
    Op::Region(Arc::new(Region { name: "both".to_owned(), body }))
}
