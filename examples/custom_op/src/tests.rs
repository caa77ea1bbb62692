//! Tests for any op and its kernel: the kernel agrees with the definition, and engines agree.

use crate::model::generator;
use crate::soft_cap::SoftCap;
use crate::{STORY, kernel};
use inkstone::Options;
use inkstone::compute::{Engine, EngineOptions, Reference};
use inkstone::tensor::{Array, CustomOp};
use inkstone_engine_cpu::Cpu;
use std::sync::Arc;

const CAP: SoftCap = SoftCap { cap: 4.0 };

fn options() -> EngineOptions {
    EngineOptions::default().threads(2).budget(1 << 30)
}

fn cpu() -> Arc<dyn Engine> {
    Arc::new(Cpu::new(&options().with_kernel(kernel::kernel())).unwrap())
}

fn reference() -> Arc<dyn Engine> {
    Arc::new(Reference::new(&options()).unwrap())
}

/// Logits of every position of a text.
fn logits(engine: Arc<dyn Engine>, cap: Option<SoftCap>) -> Array {
    let model = generator(STORY, engine, cap).unwrap();
    let ids = model.tokenizer().encode("The cat sat on the", &Default::default()).unwrap();
    Array::from_f32(model.graph().config.vocab, model.logits(&ids, &[]).unwrap())
}

#[test]
fn the_kernel_has_the_bits_of_the_definition() {
    let plain = logits(cpu(), None);
    let capped = logits(cpu(), Some(CAP));
    assert!(plain.cols() > 1024 && plain.all::<f32>().iter().any(|x| *x > CAP.cap));
    assert!(capped == CAP.eval(&[plain]));
}

#[test]
fn engines_agree() {
    let (cpu, reference) = (logits(cpu(), Some(CAP)), logits(reference(), Some(CAP)));
    let square = |x: f32| f64::from(x) * f64::from(x);
    let pairs = || cpu.all::<f32>().iter().zip(reference.all::<f32>());
    let distance: f64 = pairs().map(|(a, b)| square(a - b)).sum();
    let length: f64 = pairs().map(|(_, b)| square(*b)).sum();
    // Activations of the one are rounded to 8 bits.
    assert!(distance.sqrt() < 0.03 * length.sqrt(), "{}", (distance / length).sqrt());
}

#[test]
fn a_cap_keeps_the_order_so_the_likeliest_story_is_the_same() {
    let greedy = Options::default().temperature(0.0).max_tokens(16);
    let story = |cap| generator(STORY, cpu(), cap).unwrap().generate("Once upon a time", &greedy).unwrap().text;
    assert_eq!(story(Some(SoftCap { cap: 30.0 })), story(None));
}

#[test]
fn without_its_kernel_the_op_is_refused_by_name() {
    let bare = Arc::new(Cpu::new(&options()).unwrap());
    let error = generator(STORY, bare, Some(CAP)).map(drop).unwrap_err().to_string();
    assert!(error.contains("soft_cap") && error.contains("none implements it"), "{error}");
}

#[test]
fn operands_that_do_not_fit_are_refused_where_the_model_names_them() {
    use inkstone::tensor::{Dim, Op, Type};
    let op = Op::Custom(Arc::new(CAP));
    let x = Type::f32(Dim::Rows, 8);
    assert_eq!(op.infer(&[x]).unwrap()[0], x);
    assert_eq!(
        op.infer(&[x, x]).unwrap_err().to_string(),
        "operand 1 is f32[Rows, 8], expected nothing: it takes 1 operands"
    );
}
