//! The speed at which a kernel that does nothing else reads memory: the ceiling of kernels that read weights.

use crate::{Options, figure, gpu};
use serde_json::json;
use std::time::Duration;
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages, ComputePipeline,
    ComputePipelineDescriptor, Device, MapMode, Queue, ShaderModuleDescriptor, ShaderSource,
};

/// Threads of a workgroup.
const THREADS: u64 = 256;
/// Workgroups of a dispatch; each thread reads four words of 16 bytes at a time.
const GRIDS: [u32; 5] = [256, 1024, 4096, 8192, 16_384];
/// The most bytes that are read: no cache holds as many.
const BYTES: u64 = 2 << 30;
/// So many words can be added up on the host.
const FEW: u64 = 1 << 22;

/// `fill` writes numbers that no memory can compress, `read` adds all of them up by exclusive or.
const TEXT: &str = "
@group(0) @binding(0) var<storage, read_write> words: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;

fn mixed(word: u32) -> u32 {
    var z = word * 0x9e3779b9u;
    z = (z ^ (z >> 16u)) * 0x85ebca6bu;
    z = (z ^ (z >> 13u)) * 0xc2b2ae35u;
    return z ^ (z >> 16u);
}

@compute @workgroup_size(256)
fn fill(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&words); i += groups.x * 256u) {
        words[i] = vec4<u32>(mixed(4u * i), mixed(4u * i + 1u), mixed(4u * i + 2u), mixed(4u * i + 3u));
    }
}

@compute @workgroup_size(256)
fn read(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let threads = groups.x * 256u;
    var sum = vec4<u32>(0u);
    for (var i = id.x; i < arrayLength(&words); i += 4u * threads) {
        sum ^= words[i] ^ words[i + threads] ^ words[i + 2u * threads] ^ words[i + 3u * threads];
    }
    sums[id.x] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}
";

/// The best of several grids.
pub fn ceiling(options: &Options) -> Result<(), String> {
    let adapter = gpu::adapter()?;
    let limits = adapter.limits();
    let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    let most = most.min(if options.tiny { 4 * FEW } else { BYTES });
    // A power of two is a whole number of turns of each grid.
    let bytes = 1u64 << most.ilog2();
    let card = Card::new(&adapter, bytes)?;
    card.run(&card.fill, GRIDS[0], 1)?;
    let least = Duration::from_millis(if options.tiny { 0 } else { 100 });
    let mut sums = Vec::new();
    let mut best = (0.0, 0);
    for grid in GRIDS.into_iter().filter(|grid| u64::from(*grid) * THREADS * 64 <= bytes) {
        let time = gpu::shortest(least, |times| card.run(&card.read, grid, times))?;
        let rate = bytes as f64 / time.as_secs_f64() / 1e9;
        figure("ceiling.grid", rate, "GB/s", json!({ "workgroups": grid, "bytes": bytes }));
        if rate > best.0 {
            best = (rate, grid);
        }
        sums.push(card.sum(grid)?);
    }
    if bytes / 4 <= FEW {
        sums.push((0..(bytes / 4) as u32).map(mixed).fold(0, |sum, word| sum ^ word));
    }
    if sums.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(format!("grids read other words: {sums:?}"));
    }
    let clock = "the host's, around a submit of many dispatches";
    figure("ceiling.read", best.0, "GB/s", json!({ "workgroups": best.1, "bytes": bytes, "clock": clock }));
    Ok(())
}

/// As the shader does it.
fn mixed(word: u32) -> u32 {
    let z = word.wrapping_mul(0x9e37_79b9);
    let z = (z ^ (z >> 16)).wrapping_mul(0x85eb_ca6b);
    let z = (z ^ (z >> 13)).wrapping_mul(0xc2b2_ae35);
    z ^ (z >> 16)
}

/// A buffer as a binding.
fn entry<'b>((binding, buffer): &(u32, &'b Buffer)) -> BindGroupEntry<'b> {
    BindGroupEntry { binding: *binding, resource: buffer.as_entire_binding() }
}

/// The card with the buffers and the kernels.
struct Card {
    device: Device,
    queue: Queue,
    sums: Buffer,
    fill: (ComputePipeline, BindGroup),
    read: (ComputePipeline, BindGroup),
}

impl Card {
    fn new(adapter: &wgpu::Adapter, bytes: u64) -> Result<Card, String> {
        let (device, queue) = gpu::open(adapter)?;
        let buffer = |size, usage| {
            device.create_buffer(&BufferDescriptor {
                label: None,
                size,
                usage: BufferUsages::STORAGE | usage,
                mapped_at_creation: false,
            })
        };
        let words = buffer(bytes, BufferUsages::COPY_DST);
        let sums = buffer(u64::from(GRIDS[4]) * THREADS * 4, BufferUsages::COPY_SRC);
        let source = ShaderSource::Wgsl(TEXT.into());
        let module = device.create_shader_module(ShaderModuleDescriptor { label: None, source });
        let kernel = |name, all: &[(u32, &Buffer)]| {
            let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
                label: Some(name),
                layout: None,
                module: &module,
                entry_point: Some(name),
                compilation_options: Default::default(),
                cache: None,
            });
            let entries: Vec<BindGroupEntry> = all.iter().map(entry).collect();
            let layout = &pipeline.get_bind_group_layout(0);
            let group = device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries });
            (pipeline, group)
        };
        let fill = kernel("fill", &[(0, &words)]);
        let read = kernel("read", &[(0, &words), (1, &sums)]);
        Ok(Card { device, queue, sums, fill, read })
    }

    /// Runs a kernel so many times.
    fn run(&self, (pipeline, group): &(ComputePipeline, BindGroup), grid: u32, times: u32) -> Result<(), String> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[]);
        (0..times).for_each(|_| pass.dispatch_workgroups(grid, 1, 1));
        drop(pass);
        self.queue.submit([encoder.finish()]);
        gpu::wait(&self.device)
    }

    /// The sum of the threads' sums.
    fn sum(&self, grid: u32) -> Result<u32, String> {
        let size = u64::from(grid) * THREADS * 4;
        let usage = BufferUsages::COPY_DST | BufferUsages::MAP_READ;
        let staging =
            self.device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(&self.sums, 0, &staging, 0, size);
        self.queue.submit([encoder.finish()]);
        staging.map_async(MapMode::Read, .., |_| {});
        gpu::wait(&self.device)?;
        let bytes = staging.get_mapped_range(..).map_err(|error| error.to_string())?;
        let words = bytes.as_chunks::<4>().0;
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).fold(0, |sum, word| sum ^ word))
    }
}
