//! A file as the source of the weights of a model.

use crate::{Error, Gguf};
use inkstone_tensor::{DType, Resident, SourceError, WeightBytes, WeightInfo, WeightSource};
use std::sync::Arc;

impl Gguf {
    /// Type and shape of a tensor that a model can use. The error names the tensor and the reason: it is missing, its
    /// type is unknown, removed or not supported by kernels, or it has no values.
    pub fn weight(&self, name: &str) -> Result<WeightInfo, Error> {
        let info = self.tensor(name).ok_or_else(|| self.no_tensor(name))?;
        let dtype = info.dtype.known().ok_or_else(|| self.unusable(info, format!("its type is {}", info.dtype)))?;
        if info.values() == 0 {
            return Err(self.unusable(info, format!("its dimensions {:?} hold no values", info.dims)));
        }
        if !computable(dtype) {
            return Err(self.unusable(info, format!("Inkstone can't compute with {dtype}")));
        }
        Ok(WeightInfo { dtype, dims: info.dims.clone() })
    }
}

/// True for types with a definition: formats that can be decoded, and ids.
fn computable(dtype: DType) -> bool {
    dtype.info().decode.is_some() || dtype == DType::I32
}

impl WeightSource for Gguf {
    /// `None` also if the type of the tensor is not in the table; [`Gguf::weight`] distinguishes the two cases.
    fn info(&self, name: &str) -> Option<WeightInfo> {
        let info = self.tensor(name)?;
        Some(WeightInfo { dtype: info.dtype.known()?, dims: info.dims.clone() })
    }

    fn has(&self, name: &str) -> bool {
        self.tensor(name).is_some()
    }

    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError> {
        self.weight(name)
            .and_then(|_| self.tensor_data(name))
            .map_err(|e| SourceError { tensor: name.to_string(), reason: reason(e) })
    }

    fn resident(&self) -> Option<Arc<dyn Resident>> {
        self.map().cloned()
    }

    /// Reads from the file if it is not mapped, so that the whole tensor is never in memory.
    fn read(&self, name: &str, offset: u64, into: &mut [u8]) -> Result<(), SourceError> {
        self.weight(name)
            .and_then(|_| self.read_tensor(name, offset, into))
            .map_err(|e| SourceError { tensor: name.to_string(), reason: reason(e) })
    }
}

/// The message without the name of the tensor, which the error of the source already contains.
fn reason(error: Error) -> String {
    match error {
        Error::NoTensor { file, .. } => format!("not in {file}"),
        Error::Unusable { reason, .. } => reason,
        e => e.to_string(),
    }
}
