use inkstone_compute::{Bindings, Interface, Weights};

/// Bytes that a model takes in its engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Weights, each once, as their file has them.
    pub weights: u64,
    /// What of the weights is copied: not read where the file lies.
    pub copied: u64,
    /// What of the weights is kept in memory where the file is mapped, because memory does not hold all of them.
    pub locked: u64,
    /// What of the weights is read from the file again and again, for the same reason.
    pub streamed: u64,
    /// Keys, values, tokens, and what sequences keep between steps; for all sequences that can be resident.
    pub states: u64,
    /// Values between the steps of a plan, and between plans.
    pub values: u64,
}

impl Footprint {
    /// Of what plans are bound to.
    pub(crate) fn of(interface: &Interface, bind: &Bindings) -> Footprint {
        let weights = interface.weights.iter().map(|w| w.ty.bytes(&Default::default()));
        let states = bind.states.iter().map(|b| b.bytes());
        let values = bind.ports.iter().map(|(_, b)| b).chain([&bind.arena, &bind.step]).map(|b| b.bytes());
        let Weights { bytes: copied, locked, streamed, .. } = bind.weights;
        Footprint { weights: sum(weights), copied, locked, streamed, states: sum(states), values: sum(values) }
    }
}

/// Saturating.
fn sum(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}
