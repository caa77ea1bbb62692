//! Devices as they are described to people.

use crate::engine::Caps;

/// A device of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Its kind: `cpu`, `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub kind: &'static str,
    /// The programming interface, the driver and its version; empty if there is none.
    pub driver: String,
    /// Bytes of its memory.
    pub memory: u64,
    /// Whether the device tells its memory; if not, it is assumed.
    pub memory_known: bool,
    /// The most bytes of a buffer that a kernel reaches; `None` if there is no such limit.
    pub binding: Option<u64>,
    /// Features for kernels: instruction sets, sizes of subgroups.
    pub features: Vec<String>,
    /// The variant of kernels that is used.
    pub variant: String,
    /// The result of the engine's own check of the device; `None` if it makes none, or was not opened on it.
    pub self_check: Option<String>,
}

impl DeviceInfo {
    /// A device of this kind, without a driver of its own.
    pub fn of(caps: &Caps, kind: &'static str) -> DeviceInfo {
        DeviceInfo {
            name: caps.name.clone(),
            kind,
            driver: String::new(),
            memory: caps.memory,
            memory_known: caps.memory_known,
            binding: (caps.binding < u64::MAX).then_some(caps.binding),
            features: caps.features.iter().map(|feature| (*feature).to_owned()).collect(),
            variant: caps.features.first().map_or_else(String::new, |feature| (*feature).to_owned()),
            self_check: None,
        }
    }
}
