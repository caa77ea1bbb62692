//! The variants of kernels. All compute the same bits.

use inkstone_shaders::wgsl::in_variant;
use wgpu::{Adapter, Features, Limits};

/// The names of the variants, the best first.
pub const VARIANTS: [&str; 2] = [Variant::Subgroup.name(), Variant::Core.name()];

/// A variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Variant {
    /// Sums and maxima of a workgroup by exchanges between the lanes of subgroups.
    Subgroup,
    /// With what every device has.
    Core,
}

/// The least lanes of a subgroup for which kernels are written.
const LANES: u32 = 4;

impl Variant {
    pub(crate) const ALL: [Variant; 2] = [Variant::Subgroup, Variant::Core];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Variant::Subgroup => "subgroup",
            Variant::Core => "core",
        }
    }

    /// Whether an adapter has its features.
    pub(crate) fn fits(self, adapter: &Adapter) -> bool {
        match self {
            Variant::Subgroup => {
                adapter.features().contains(self.features()) && adapter.get_info().subgroup_min_size >= LANES
            }
            Variant::Core => true,
        }
    }

    /// The features that the device is asked for.
    pub(crate) fn features(self) -> Features {
        match self {
            Variant::Subgroup => Features::SUBGROUP,
            Variant::Core => Features::empty(),
        }
    }

    /// The limits that the device is asked for: the core limits if the variant was named, to have the least of all devices;
    /// otherwise all that the adapter has.
    pub(crate) fn limits(self, adapter: &Adapter, named: bool) -> Limits {
        if named && self == Variant::Core { Limits::defaults() } else { adapter.limits() }
    }

    /// The text of a kernel.
    pub(crate) fn text(self, kernel: &str) -> String {
        in_variant(kernel, self.name())
    }
}
