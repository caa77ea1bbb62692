use crate::memory::sum;
use inkstone_compute::{Bindings, Interface, Weights};

/// The memory of a model in its engine, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Weights in the format of the file, each counted once.
    pub weights: u64,
    /// The part of the weights that is a copy instead of a view of the file.
    pub copied: u64,
    /// The part of the mapped weights that is locked in memory, if memory does not hold all of them.
    pub locked: u64,
    /// The part of the mapped weights that is read from the file in every step, in the same case.
    pub streamed: u64,
    /// Keys, values, tokens, and the carry between steps, for all sequences that can be resident.
    pub states: u64,
    /// Values between the steps of a plan, and between plans.
    pub values: u64,
}

impl Footprint {
    /// The footprint of the buffers that the plans are bound to.
    pub(crate) fn of(interface: &Interface, bind: &Bindings) -> Footprint {
        let weights = interface.weights.iter().map(|w| w.ty.bytes(&Default::default()));
        let states = bind.states.iter().map(|b| b.bytes());
        let values = bind.ports.iter().map(|(_, b)| b).chain([&bind.arena, &bind.step]).map(|b| b.bytes());
        let Weights { bytes: copied, locked, streamed, .. } = bind.weights;
        Footprint { weights: sum(weights), copied, locked, streamed, states: sum(states), values: sum(values) }
    }
}
