//! `--profile`: the times of kernels.

use super::table::{Line, counted, figure, lines};
use crate::terminal;
use inkstone::{Model, PlanProfile};
use std::time::Duration;

/// The columns: the kernel, then numbers per run.
const HEAD: [&str; 6] = ["kernel", "steps", "time", "share", "bytes", "of the read"];

/// Prints the profile to standard error, or the reason why there is none.
pub(super) fn print(model: &Model) {
    let caps = model.engine().caps();
    let Some(plans) = model.profile() else {
        return terminal::note(&format!("note: engine {} does not record the times of its steps", caps.name));
    };
    let speed = |threads: usize| model.engine().read_bandwidth(threads).map(|speed| (threads, speed));
    let mut speeds: Vec<(usize, f64)> = [1, caps.threads].into_iter().filter_map(speed).collect();
    speeds.dedup_by_key(|(threads, _)| *threads);
    let described: Vec<String> = speeds
        .iter()
        .map(|(threads, speed)| format!("{}/s with {}", figure(*speed, "B"), counted(*threads as u64, "thread")))
        .collect();
    let all = speeds.last().map(|(_, speed)| *speed);
    terminal::note(&match described.is_empty() {
        true => format!("profile: engine {} does not measure the speed of memory", caps.name),
        false => format!("profile: memory is read at {}", described.join(", ")),
    });
    for plan in &plans {
        table(plan, all).iter().for_each(|line| terminal::note(line));
    }
}

/// The table of a plan: its kernels and their total. The share is relative to `speed`, in bytes per second.
fn table(plan: &PlanProfile, speed: Option<f64>) -> Vec<String> {
    let runs = plan.runs.count.max(1);
    let total: Duration = plan.kernels.iter().map(|k| k.time).sum();
    let row = |name: &str, steps: usize, time: Duration, bytes: u64| {
        let seconds = time.as_secs_f64();
        let share = if total.is_zero() { 0.0 } else { 100.0 * seconds / total.as_secs_f64() };
        let read = speed.filter(|_| seconds > 0.0).map(|speed| 100.0 * bytes as f64 / seconds / speed);
        Line::Cells([
            name.to_owned(),
            steps.to_string(),
            format!("{:.1} us", 1e6 * seconds / runs as f64),
            format!("{share:.1}%"),
            figure(bytes as f64 / runs as f64, "B"),
            read.map_or("-".to_owned(), |read| format!("{read:.0}%")),
        ])
    };
    let rows = counted(plan.runs.rows / runs, "row");
    let mut rows = vec![
        Line::Alone(format!("{}, {} of {rows}; a run:", plan.plan, counted(plan.runs.count, "run"))),
        Line::Cells(HEAD.map(str::to_owned)),
    ];
    rows.extend(plan.kernels.iter().map(|k| row(&k.kernel, k.steps, k.time, k.bytes)));
    let steps = plan.kernels.iter().map(|k| k.steps).sum();
    let bytes = plan.kernels.iter().map(|k| k.bytes).fold(0, u64::saturating_add);
    rows.push(row("all", steps, total, bytes));
    lines(&rows, 1)
}
