//! Fused plans compute what plans without fusion compute, bit for bit, and are as short as they should be.

use crate::common::{self, *};
use inkstone_compute::{Caps, Kernel, Pattern, Plan, Port, Registry, TileProgram};
use inkstone_graph::{Compiled, Error, Kind, Wants, compile, fusions};
use inkstone_tensor::DType;

fn compiled(shape: Shape, weights: &Tensors, layers: usize, registry: &Registry, without: &[&str]) -> Compiled {
    let body = shape.body(weights, layers).unwrap();
    let without: Vec<String> = without.iter().map(|name| (*name).to_owned()).collect();
    compile(&[(Kind::BODY, &body)], &Caps::made_up("made-up"), registry, SLOTS, &without).unwrap()
}

fn all() -> Vec<&'static str> {
    fusions().collect()
}

/// Every plan of a fused model is one that engines take, and its tiles are ordered.
#[test]
fn fused_plans_are_sound() {
    for shape in SHAPES {
        let weights = shape.weights(DType::Q8_0, 2);
        for plan in compiled(shape, &weights, 2, &fused(), &[]).plans(Kind::BODY) {
            plan.check().unwrap();
            TileProgram::new(plan).check(plan, &plan.bucket).unwrap();
        }
    }
}

/// The plan for few rows.
fn decode(compiled: &Compiled) -> Plan {
    compiled.step(1, 0, &Wants::CHUNK.kinds()).unwrap()
}

fn steps_a_layer(shape: Shape, registry: &Registry, without: &[&str], rows: usize) -> usize {
    let weights = shape.weights(DType::Q8_0, 2);
    let steps = |layers| {
        compiled(shape, &weights, layers, registry, without).step(rows, 0, &Wants::CHUNK.kinds()).unwrap().steps.len()
    };
    steps(2) - steps(1)
}

#[test]
fn a_layer_has_few_steps() {
    let fused = SHAPES.map(|shape| steps_a_layer(shape, &fused(), &[], 1));
    assert_eq!(fused, [5, 5, 5, 10, 7], "{SHAPES:?}");
    let dissolved = SHAPES.map(|shape| steps_a_layer(shape, &common::fused(), &all(), 1));
    assert_eq!(dissolved, [22, 22, 24, 19, 26], "{SHAPES:?}");
    let chunk = SHAPES.map(|shape| steps_a_layer(shape, &common::fused(), &[], 512));
    assert_eq!(chunk, [14, 14, 16, 14, 18], "{SHAPES:?}");
}

/// The values of ports and states after some steps.
fn run(compiled: &Compiled, weights: &Tensors) -> Vec<inkstone_tensor::Array> {
    let mut machine = Machine::new(compiled.interface(), weights, SLOTS);
    let mut seen = Vec::new();
    for parts in STEPS {
        let (rows, _, words) = words(parts);
        machine.run(&compiled.step(rows, 0, &Wants::CHUNK.kinds()).unwrap(), &words);
        seen.push(machine.ports[&Port::HIDDEN].clone());
    }
    seen.extend(compiled.interface().states.iter().map(|s| machine.state(&s.name).clone()));
    seen
}

#[test]
fn each_fusion_off_in_turn_gives_the_same_bits() {
    let mut fired = std::collections::BTreeSet::new();
    for shape in SHAPES {
        let weights = shape.weights(DType::Q8_0, 2);
        let wanted = run(&compiled(shape, &weights, 2, &fused(), &all()), &weights);
        let together = compiled(shape, &weights, 2, &fused(), &[]);
        assert!(run(&together, &weights) == wanted, "{shape:?}");
        for off in all() {
            let without = compiled(shape, &weights, 2, &fused(), &[off]);
            assert!(run(&without, &weights) == wanted, "{shape:?} without {off}");
            let text = without.report().to_string();
            assert!(!text.contains(&format!(" {off} by ")), "{text}");
            // Alone, what is left to it shows.
            let rest: Vec<&str> = all().into_iter().filter(|name| *name != off).collect();
            let alone = compiled(shape, &weights, 2, &fused(), &rest);
            assert!(run(&alone, &weights) == wanted, "{shape:?} with {off} alone");
            if alone.report().to_string().contains(&format!(" {off} by ")) {
                fired.insert(off);
            }
        }
    }
    assert_eq!(fired.into_iter().collect::<Vec<_>>().len(), all().len() - 2, "all but the gated units, which need map");
}

#[test]
fn a_fusion_that_is_not_there_is_an_error() {
    let weights = Shape::Llama.weights(DType::Q8_0, 1);
    let body = Shape::Llama.body(&weights, 1).unwrap();
    let error = compile(&[(Kind::BODY, &body)], &Caps::made_up("made-up"), &fused(), SLOTS, &["gluu".to_owned()]);
    let Err(error @ Error::UnknownFusion { .. }) = error else { panic!("{error:?}") };
    assert!(error.to_string().starts_with("no fusion is called gluu; there are: map, norm_glu, glu,"), "{error}");
}

#[test]
fn regions_take_nothing_away_from_kernels_from_outside() {
    let weights = Shape::Llama.weights(DType::Q8_0, 1);
    let rope = Kernel { name: "mine", implements: Pattern::Named("rope"), ..eval() };
    let mut registry = fused();
    registry.kernels.insert(0, rope);
    let kernels = |registry: &Registry| {
        let compiled = compiled(Shape::Llama, &weights, 1, registry, &[]);
        let kernels: Vec<String> = decode(&compiled).steps.into_iter().map(|s| s.kernel).collect();
        (kernels, compiled.report().to_string())
    };
    let (own, _) = kernels(&registry);
    assert!(own.iter().any(|k| k == "rope_attend.r8") && !own.iter().any(|k| k == "mine"), "{own:?}");
    registry.outside = 1;
    let (found, report) = kernels(&registry);
    assert_eq!(found.iter().filter(|k| *k == "mine").count(), 2, "{found:?}");
    assert!(found.iter().any(|k| k == "norm_linear.r8"), "{found:?}");
    assert!(
        report.contains("rope_attend dissolved (up to 1 rows, 64 logit rows): rope is done by mine, a custom kernel")
    );
    // A custom kernel for the region may.
    let write = registry.kernels.iter().position(|k| k.name == "rope_attend.r8").unwrap();
    registry.kernels[..=write].rotate_right(1);
    registry.outside = 2;
    assert_eq!(kernels(&registry).0, own);
}

#[test]
fn text_forms() {
    let weights = Shape::Llama.weights(DType::Q8_0, 1);
    let whole = compiled(Shape::Llama, &weights, 1, &fused(), &[]);
    insta::assert_snapshot!("plan_fused", decode(&whole));
    insta::assert_snapshot!("plan_fused_chunk", whole.step(100, 0, &Wants::CHUNK.kinds()).unwrap());
    insta::assert_snapshot!("report_fused", whole.report());
    let some = compiled(Shape::Llama, &weights, 1, &fused(), &["norm_glu", "linear_map"]);
    insta::assert_snapshot!("plan_some_off", decode(&some));
    let mut poor = fused();
    poor.kernels.retain(|k| k.name != "norm_linear.r8");
    for kernel in poor.kernels.iter_mut().filter(|k| k.name.starts_with("linear_map")) {
        kernel.requires = &["vnni"];
    }
    for kernel in poor.kernels.iter_mut().filter(|k| k.name.starts_with("rope_")) {
        kernel.members = &[("rope", inkstone_compute::Numerics("f32"))];
    }
    insta::assert_snapshot!("report_poor", compiled(Shape::Llama, &weights, 1, &poor, &[]).report());
}
