//! Stage `wgpu`: the tests of the engine for GPUs on drivers that compute on the CPU.

use super::context::Context;
use super::outcome::Outcome;
use crate::command::Program;
use crate::error::Error;
use crate::vulkan;

/// A driver, and the tests that run on it.
struct Case {
    name: &'static str,
    driver: &'static str,
    width: Option<&'static str>,
    /// Parts of the names of tests.
    tests: &'static [&'static str],
    /// Tests that run only with `--full`.
    slow: &'static [&'static str],
    /// Whether the whole case runs only with `--full`.
    full: bool,
}

/// The tests whose bits could depend on the size of subgroups.
const BITS: &[&str] =
    &["wgpu::kernels_compute", "wgpu::the_queue", "archs::wgpu::", "invariance::wgpu::", "fusion::wgpu::"];

/// Kernels take three minutes to compile where the driver has none of them in its cache.
const SLOW_BITS: &[&str] = &[
    "wgpu::kernels_compute",
    "fusion::wgpu::fusing_changes_no_bit",
    "invariance::wgpu::every_split_gives_the_same_bits_on_quantised_weights",
    "invariance::wgpu::a_mixed_batch_has_the_bits_of_each_alone_on_quantised_weights",
];

/// Tests that take long on these drivers: a few that take half a minute each, and many that open a model each and whose claims are
/// more about the host than about kernels.
const SLOW: &[&str] = &[
    "bad_archs::wgpu::",
    "bad_model::wgpu::",
    "bad_options::wgpu::",
    "chat::wgpu::",
    "entry_points::wgpu::",
    "threads::wgpu::",
    "scheduler::wgpu::g2_more_sequences",
    "scheduler::wgpu::g3_sequences",
    "scheduler::wgpu::g4_a_reader",
    "scheduler::wgpu::an_engine_that_fails",
    "shared_pages::wgpu::g2_sequences",
    "going_back::wgpu::forks",
    "going_back::wgpu::sessions",
    "hostile_files::wgpu::",
    "story::wgpu::beam_searches",
    "story::wgpu::stories_end",
    "story::wgpu::the_target_as_q4_k_m",
    "invariance::wgpu::every_split_gives_the_same_bits_on_quantised_weights",
    "invariance::wgpu::a_mixed_batch_has_the_bits_of_each_alone_on_quantised_weights",
    "wgpu::each_allocation_of_a_model_may_fail",
    "wgpu::core_kernels",
];

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "lavapipe 256", driver: "lavapipe", width: Some("256"), tests: &["wgpu::"], slow: SLOW, full: false },
    Case { name: "lavapipe 128", driver: "lavapipe", width: Some("128"), tests: BITS, slow: SLOW_BITS, full: false },
    Case { name: "lavapipe 512", driver: "lavapipe", width: Some("512"), tests: BITS, slow: SLOW_BITS, full: false },
    Case { name: "swiftshader", driver: "swiftshader", width: None, tests: &["archs::wgpu::llama_tied"], slow: &[], full: false },
    Case { name: "swiftshader, all", driver: "swiftshader", width: None, tests: BITS, slow: &[], full: true },
];

/// The case that measures this machine as `cargo xtask gpu` measures cards, with small shapes.
const CARD: &str = "card";

pub fn cases(context: &Context) -> Result<Vec<String>, Error> {
    let cases = CASES.iter().filter(|case| context.is_full() || !case.full).map(|case| case.name);
    Ok(cases.chain([CARD]).map(str::to_owned).collect())
}

pub fn run(context: &Context, name: &str) -> Result<Outcome, Error> {
    if name == CARD {
        let own = std::env::current_exe().map_err(|source| Error::File { path: "xtask".into(), source })?;
        let smoke = Program::at(&own, context.workspace.root()).args(["gpu", "--smoke"]);
        return context.programs("wgpu card", [smoke.arg(context.workspace.target().join("xtask/card"))]);
    }
    let Some(case) = CASES.iter().find(|case| case.name == name) else {
        return Err(Error::Usage { message: format!("stage wgpu has no case {name}") });
    };
    // The same command line as in stage `test`, so that nothing is built again.
    let line = "cargo test --workspace --all-features --no-fail-fast --tests -- --ignored --show-output";
    let slow: &[&str] = if context.is_full() { &[] } else { case.slow };
    let skips = ["planted_faults"].iter().chain(slow).flat_map(|test| ["--skip", test]);
    let program = context.program(line).args(case.tests.iter().copied().chain(skips));
    let variables = vulkan::environment(&context.workspace, case.driver, case.width)?;
    let program = variables.into_iter().fold(program, |program, (name, value)| program.env(name, value));
    context.programs(&format!("wgpu {name}"), [program])
}
