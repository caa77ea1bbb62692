//! Random straight-line graphs: plans on one arena do what `interpret` does, and the checker finds values that are moved
//! onto others.

use crate::common::*;
use inkstone_compute::{Caps, Port, Region, TileProgram};
use inkstone_graph::{Graph, Kind, Tracer, Wants, check, compile};
use inkstone_tensor::step::{LogitWish, SeqStep, StepBuffer};
use inkstone_tensor::{Array, DType, Dim, Slots, Type};
use proptest::prelude::*;

const WIDTHS: [usize; 3] = [1, 5, 32];

fn weights() -> Tensors {
    let mut w = Tensors::default();
    for k in WIDTHS {
        for n in WIDTHS {
            w.add(&format!("{k}x{n}"), DType::F32, &[k, n]);
        }
    }
    w
}

/// Instructions that pick operands among the values so far; what can't be is something else instead.
fn graph(weights: &Tensors, code: &[(u8, usize, usize)]) -> Graph {
    let t = Tracer::new("random", weights);
    let mut values = vec![t.input(Port::HIDDEN, Type::f32(Dim::Rows, 5))];
    for &(op, a, b) in code {
        let (a, width) = (values[a % values.len()], WIDTHS[b % WIDTHS.len()]);
        let b = values[b % values.len()];
        let value = match op % 4 {
            0 if a.ty() == b.ty() => t.add(a, b),
            1 if a.ty() == b.ty() => t.mul(a, b),
            0..=2 => t.silu(a),
            _ => t.linear(a, t.weight(&format!("{}x{width}", a.ty().cols), width, a.ty().cols).unwrap(), None),
        };
        values.push(value.unwrap());
    }
    let last = *values.last().unwrap();
    t.output(Port::LOGITS, t.silu(last).unwrap());
    t.finish().unwrap()
}

fn step(rows: usize) -> Vec<u32> {
    let mut b = StepBuffer::with_capacity(1, rows, 1, 1);
    b.push(&SeqStep { slot: 0, tokens: &vec![0; rows], tables: &[&[0]], logits: LogitWish::None, sampler: None });
    b.encode(0, 0).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plans_are_their_graphs(code in prop::collection::vec(any::<(u8, usize, usize)>(), 1..40), rows in 1usize..9) {
        let weights = weights();
        let g = graph(&weights, &code);
        let mut uniform = uniform("x");
        let x = Array::from_rows(rows, 5, |_, row| row.iter_mut().for_each(|x| *x = uniform()));
        let mut eager = Eager::new(&weights, Slots::default());
        eager.ports.insert(Port::HIDDEN, x.clone());
        eager.run(&g, &step(rows));
        for registry in [reference(), phased_reference()] {
            let compiled = compile(&[(Kind::BODY, &g)], &Caps::made_up("made-up"), &registry, Slots::default(), &[]).unwrap();
            let mut machine = Machine::new(compiled.interface(), &weights, Slots::default());
            machine.ports.insert(Port::HIDDEN, x.clone());
            let plan = compiled.step(rows, 0, &Wants::CHUNK.kinds()).unwrap();
            TileProgram::new(&plan).check(&plan, &plan.bucket).unwrap();
            machine.run(&plan, &step(rows));
            prop_assert!(machine.ports[&Port::LOGITS] == eager.ports[&Port::LOGITS]);
        }
    }

    /// Scratch that is moved onto a value that is read later, onto an argument of its step, or out of the arena.
    #[test]
    fn scratch_that_lies_elsewhere_is_found(code in prop::collection::vec(any::<(u8, usize, usize)>(), 2..40), pick: usize) {
        let g = graph(&weights(), &code);
        let compiled = compile(&[(Kind::BODY, &g)], &Caps::made_up("made-up"), &phased_reference(), Slots::default(), &[]).unwrap();
        let plan = &compiled.plans(Kind::BODY)[1];
        let step = pick % plan.steps.len();
        let moved = |at: u64| {
            let mut plan = plan.clone();
            plan.steps[step].scratch = at..at + 64;
            [plan.check().is_err(), check(&plan).is_err()]
        };
        prop_assert_eq!(moved(plan.arena_bytes), [true; 2]);
        let own = plan.steps[step].args.iter().filter(|a| a.region == Region::Arena);
        let later = plan.steps[step + 1..].iter().flat_map(|s| s.ins()).filter(|a| {
            let made = plan.steps[..=step].iter().flat_map(|s| s.outs()).any(|o| o.value == a.value);
            a.region == Region::Arena && made
        });
        for a in own.chain(later) {
            prop_assert_eq!(moved(a.offset), [true; 2], "{} of step {}", a, step);
        }
    }

    /// A value that is moved by a line lies on bytes that nobody wrote, that are another's, or out of the arena.
    #[test]
    fn a_value_that_is_read_elsewhere_is_found(code in prop::collection::vec(any::<(u8, usize, usize)>(), 2..40), pick: usize) {
        let g = graph(&weights(), &code);
        let compiled = compile(&[(Kind::BODY, &g)], &Caps::made_up("made-up"), &reference(), Slots::default(), &[]).unwrap();
        let mut plan = compiled.plans(Kind::BODY)[1].clone();
        let mut reads: Vec<&mut u64> = plan
            .steps
            .iter_mut()
            .flat_map(|s| s.args.iter_mut())
            .filter(|a| a.region == Region::Arena && !a.write)
            .map(|a| &mut a.offset)
            .collect();
        prop_assume!(!reads.is_empty());
        let n = reads.len();
        *reads[pick % n] += 64;
        prop_assert!(check(&plan).is_err());
    }
}
