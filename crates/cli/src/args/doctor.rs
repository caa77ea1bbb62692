//! Arguments of `doctor`.

use clap::Args;

const EXPLANATION: &str =
    "An engine that does not open has a reason, and a hint at what would help. `--engine auto` takes the
first engine of the list that opens and is faster than the next one for the model; it never takes
`reference`. Devices have numbers, which --device takes as well as parts of their names.";

/// Show the engines of this build, their devices, and why an engine can't be used
#[derive(Args, Debug)]
#[command(after_help = EXPLANATION)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object: engines, with name, available, reason and devices
    #[arg(long)]
    pub(crate) json: bool,
}
