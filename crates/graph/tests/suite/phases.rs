//! Plans of kernels with scratch and first phases: where scratch lies, what waits for it, and how it prints.

use crate::common::*;
use inkstone_compute::{Caps, Plan, TileProgram};
use inkstone_graph::{Compiled, Kind, check, compile};
use inkstone_tensor::{DType, Sizes};

const BUCKETS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 512];

fn compiled(layers: usize) -> Compiled {
    let weights = Shape::Llama.weights(DType::Q8_0, layers);
    let body = Shape::Llama.body(&weights, layers).unwrap();
    let mut caps = Caps::made_up("made-up");
    caps.rows = BUCKETS.to_vec();
    compile(&[(Kind::BODY, &body)], &caps, &phased(), SLOTS, &[]).unwrap()
}

#[test]
fn text_forms() {
    let compiled = compiled(1);
    // Without the refusals, which other snapshots show.
    let lines = |plan: &Plan| {
        let text = plan.to_string();
        text.lines().filter(|line| !line.contains("refused:")).fold(String::new(), |text, line| text + line + "\n")
    };
    insta::assert_snapshot!("plan_phased", compiled.plans(Kind::BODY).iter().map(lines).collect::<String>());
}

#[test]
fn plans_with_scratch_are_sound_in_every_bucket() {
    let compiled = compiled(3);
    let plans = compiled.plans(Kind::BODY);
    assert_eq!(plans.iter().map(|plan| plan.bucket.rows).collect::<Vec<_>>(), BUCKETS);
    for plan in plans {
        plan.check().unwrap();
        check(plan).unwrap();
        let program = TileProgram::new(plan);
        for rows in [plan.bucket.rows, 1, 0] {
            program.check(plan, &Sizes { rows, ..plan.bucket }).unwrap();
        }
        let scratch: Vec<_> = plan.steps.iter().map(|s| &s.scratch).filter(|s| !s.is_empty()).collect();
        assert!(scratch.len() >= if plan.bucket.rows > 8 { 18 } else { 0 }, "{plan}");
        assert!(scratch.windows(2).all(|s| s[0].end <= s[1].start || s[1].end <= s[0].start), "{plan}");
    }
}

/// The first phase of the keys' product waits for its operand, not for the product of the queries.
#[test]
fn a_first_phase_runs_while_tiles_of_the_step_before_run() {
    let compiled = compiled(2);
    let plan = compiled.plans(Kind::BODY).last().unwrap();
    let program = TileProgram::new(plan);
    let phases = program.phases();
    let early = (1..phases.len()).filter(|i| {
        let step = phases[*i].step;
        phases[*i].first && phases[i - 1].step + 1 == step && !phases[*i].waits.contains(&(i - 1))
    });
    assert!(early.count() >= 4, "{program}");
}
