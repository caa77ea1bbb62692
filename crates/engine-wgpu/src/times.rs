//! The times of steps, for profiles: the device notes its clock before the first step and after each one.

use crate::device::{Device, lost};
use inkstone_compute::Result;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use wgpu::{
    Buffer, BufferDescriptor, BufferUsages, CommandEncoder, ComputePass, Features, MapMode, QUERY_SET_MAX_QUERIES,
    QuerySet, QuerySetDescriptor, QueryType, SubmissionIndex,
};

/// The features of devices that note their clock.
pub(crate) const CLOCK: Features = Features::TIMESTAMP_QUERY.union(Features::TIMESTAMP_QUERY_INSIDE_PASSES);

/// The times of the steps of a program.
pub(crate) struct Times {
    notes: QuerySet,
    resolved: Buffer,
    staging: Buffer,
    /// The number of dispatches of each step and of all before it.
    ends: Vec<usize>,
    sums: Mutex<Vec<Duration>>,
}

impl Times {
    /// For steps with these ends. `None` if the device notes no clock, or not so often.
    pub(crate) fn new(device: &Device, ends: Vec<usize>) -> Option<Times> {
        let count = u32::try_from(ends.len() + 1).ok().filter(|count| *count <= QUERY_SET_MAX_QUERIES)?;
        if !device.wgpu.features().contains(CLOCK) {
            return None;
        }
        let label = Some("times of steps");
        let buffer = |usage| {
            let size = u64::from(count) * u64::from(wgpu::QUERY_SIZE);
            device.wgpu.create_buffer(&BufferDescriptor { label, size, usage, mapped_at_creation: false })
        };
        let notes = device.wgpu.create_query_set(&QuerySetDescriptor { label, ty: QueryType::Timestamp, count });
        let resolved = buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC);
        let staging = buffer(BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let sums = Mutex::new(vec![Duration::ZERO; ends.len()]);
        Some(Times { notes, resolved, staging, ends, sums })
    }

    /// Notes the clock if so many dispatches of the program are the last ones of a step, or its first.
    pub(crate) fn note(&self, dispatches: usize, pass: &mut ComputePass) {
        if dispatches == 0 {
            pass.write_timestamp(&self.notes, 0);
        }
        let steps = |below: usize| self.ends.partition_point(|end| *end < below);
        for step in steps(dispatches)..steps(dispatches + 1) {
            pass.write_timestamp(&self.notes, step as u32 + 1);
        }
    }

    /// Brings the notes to the host.
    pub(crate) fn resolve(&self, encoder: &mut CommandEncoder) {
        encoder.resolve_query_set(&self.notes, 0..self.ends.len() as u32 + 1, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.staging, 0, self.staging.size());
    }

    /// Waits for a run, and adds its times.
    pub(crate) fn add(&self, device: &Device, run: SubmissionIndex) -> Result<()> {
        self.staging.map_async(MapMode::Read, .., |_| {});
        device.wait(Some(run))?;
        let period = f64::from(device.queue.get_timestamp_period());
        let mapped = self.staging.get_mapped_range(..).map_err(|error| lost(error.to_string()))?;
        let notes: Vec<u64> = bytemuck::pod_collect_to_vec(&mapped);
        drop(mapped);
        self.staging.unmap();
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, note) in sums.iter_mut().zip(notes.windows(2)) {
            *sum += Duration::from_nanos((note[1].saturating_sub(note[0]) as f64 * period) as u64);
        }
        Ok(())
    }

    /// The time of each step, of all runs.
    pub(crate) fn sums(&self) -> Vec<Duration> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
