//! A weight as its source has it, held against what the plans expect.

use crate::plan::WeightSlot;
use crate::{Error, Result};
use inkstone_tensor::{Dim, SourceError, WeightBytes, WeightInfo, WeightSource};

fn unreadable(slot: &WeightSlot, reason: String) -> SourceError {
    SourceError { tensor: slot.name.to_string(), reason }
}

impl WeightSlot {
    /// Reads the weight in the layout of its source: whole rows of the type of the slot, checked to be inside their
    /// owner.
    ///
    /// # Errors
    /// The tensor is missing, unreadable, or has another type.
    pub fn read(&self, source: &dyn WeightSource) -> Result<WeightBytes> {
        self.check(source)?;
        let bytes = source.bytes(&self.name)?;
        let (held, expected) = ((*bytes.data).as_ref().len(), self.ty.bytes(&Default::default()));
        let end = bytes.offset.checked_add(bytes.len).filter(|end| *end <= held);
        if bytes.len as u64 != expected || end.is_none() {
            let found = format!("{} bytes at {} of {held}, expected {expected}", bytes.len, bytes.offset);
            return Err(unreadable(self, found).into());
        }
        Ok(bytes)
    }

    /// That the source has the weight in the slot's type.
    ///
    /// # Errors
    /// A tensor that is missing, or of another type.
    pub fn check(&self, source: &dyn WeightSource) -> Result<()> {
        let missing = || unreadable(self, "not in the source".to_owned());
        let info = source.info(&self.name).ok_or_else(missing)?;
        let Dim::N(rows) = self.ty.rows else { return Err(mismatch(self, &info)) };
        let cols = info.dims.first() == Some(&(self.ty.cols as u64));
        let product = info.dims.iter().skip(1).try_fold(1u64, |product, dim| product.checked_mul(*dim));
        if info.dtype != self.ty.dtype || !cols || product != Some(rows as u64) || self.ty.state {
            return Err(mismatch(self, &info));
        }
        Ok(())
    }
}

fn mismatch(slot: &WeightSlot, info: &WeightInfo) -> Error {
    let dims: Vec<String> = info.dims.iter().rev().map(u64::to_string).collect();
    let found = format!("{}[{}]", info.dtype.name().to_ascii_lowercase(), dims.join(", "));
    Error::WeightType { tensor: slot.name.to_string(), found, expected: slot.ty.to_string() }
}
