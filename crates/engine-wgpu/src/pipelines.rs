//! Pipelines: each variant of a kernel is compiled once for a device.

use crate::device::{Device, lost};
use crate::shader::Shader;
use inkstone_compute::{Error, Result};
use inkstone_tensor::Progress;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wgpu::{
    ComputePipeline, ComputePipelineDescriptor, ErrorFilter, PipelineCompilationOptions, ShaderModuleDescriptor,
    ShaderSource,
};

/// The compiled variants.
#[derive(Default)]
pub(crate) struct Pipelines(Mutex<HashMap<Shader, ComputePipeline>>);

impl Pipelines {
    fn lock(&self) -> MutexGuard<'_, HashMap<Shader, ComputePipeline>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pipeline of a shader, compiled if it was not before.
    ///
    /// # Errors
    /// The driver refuses it.
    pub(crate) fn get(&self, device: &Device, shader: &Shader) -> Result<ComputePipeline> {
        if let Some(pipeline) = self.lock().get(shader) {
            return Ok(pipeline.clone());
        }
        let pipeline = compile(device, shader)?;
        Ok(self.lock().entry(shader.clone()).or_insert(pipeline).clone())
    }

    /// Compiles shaders on all threads.
    ///
    /// # Errors
    /// The driver refuses one of them; cancellation.
    pub(crate) fn warm(&self, device: &Device, shaders: Vec<Shader>, progress: &dyn Progress) -> Result<()> {
        let line = Mutex::new(shaders.into_iter());
        let failure = Mutex::new(None);
        let work = || {
            while let Some(shader) = line.lock().unwrap_or_else(PoisonError::into_inner).next() {
                let made =
                    if progress.cancelled() { Err(Error::Cancelled) } else { self.get(device, &shader).map(drop) };
                if let Err(error) = made {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            // Fewer threads, if the system gives fewer.
            for _ in 1..std::thread::available_parallelism().map_or(1, usize::from) {
                let _thread = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}

fn compile(device: &Device, shader: &Shader) -> Result<ComputePipeline> {
    device.check()?;
    let refused = |reason: String| Error::NoDevice { engine: crate::Wgpu::NAME.to_owned(), reason };
    let text = device.faults.planted(device.variant.text(&shader.assemble().map_err(refused)?));
    let label = text.lines().next().unwrap_or_default().to_owned();
    let constants = shader.constants();
    let made = device.scoped(ErrorFilter::Validation, || {
        let source = ShaderSource::Wgsl(text.into());
        let module = device.wgpu.create_shader_module(ShaderModuleDescriptor { label: Some(&label), source });
        device.wgpu.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some(&label),
            layout: Some(&device.layouts.pipeline),
            module: &module,
            entry_point: Some("main"),
            compilation_options: PipelineCompilationOptions {
                constants: &constants,
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        })
    });
    device.check()?;
    made.map_err(|reason| lost(format!("{label}: {reason}")))
}
