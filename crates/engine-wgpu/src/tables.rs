//! Tables that the host computes, such as cosines and sines: each is on the device once.

use crate::call::Words;
use crate::device::Device;
use crate::memory;
use inkstone_compute::Result;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Tables by name.
#[derive(Default)]
pub(crate) struct Tables(Mutex<HashMap<Arc<str>, wgpu::Buffer>>);

impl Tables {
    /// The table with this name.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn get(&self, device: &Device, name: &Arc<str>, words: &Words) -> Result<wgpu::Buffer> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(buffer) = tables.get(name) {
            return Ok(buffer.clone());
        }
        let words = words.make();
        let buffer = memory::buffer(device, 4 * words.len() as u64, "a table")?;
        device.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&words));
        tables.insert(name.clone(), buffer.clone());
        Ok(buffer)
    }
}
