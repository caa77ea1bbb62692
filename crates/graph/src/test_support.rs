//! Shared code of the unit tests of passes: shapes without data, and a registry with every op.

use inkstone_compute::{Kernel, Layout, Pattern, Registry};
use inkstone_tensor::{DType, SourceError, WeightBytes, WeightInfo, WeightSource};
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
