//! What a model file hears from the tracer.

use crate::common::*;
use inkstone_compute::Port;
use inkstone_graph::{Graph, Result, Tracer, Value};
use inkstone_tensor::op::{Cost, Mismatch, Operands};
use inkstone_tensor::ops::{Attend, Expr, Pairs, Rope, Term};
use inkstone_tensor::{Array, CustomOp, DType, Dim, Sizes, Type};
use std::any::Any;
use std::sync::Arc;

fn error(change: impl FnOnce(&mut Tensors)) -> String {
    let mut weights = Tensors::llama(DType::Q8_0, true);
    change(&mut weights);
    llama(&weights).unwrap_err().to_string()
}

#[test]
fn b3_a_tensor_of_another_shape_is_named_with_both_shapes() {
    let message = error(|w| w.add("blk.0.attn_q.weight", DType::Q8_0, &[64, 32]));
    assert_eq!(message, "tensor blk.0.attn_q.weight is [64, 32], expected [32, 32]");
    let message = error(|w| w.add("blk.1.ffn_norm.weight", DType::F32, &[32, 2]));
    assert_eq!(message, "tensor blk.1.ffn_norm.weight is [32, 2], expected [32]");
    let message = error(|w| w.add("token_embd.weight", DType::Q8_0, &[32, 49]));
    assert_eq!(message, "tensor token_embd.weight is [32, 49], expected [32, 50]");
}

#[test]
fn b3_a_missing_tensor_is_named_with_the_shape_wanted() {
    let message = error(|w| drop(w.0.remove("blk.1.ffn_down.weight")));
    assert_eq!(message, "tensor blk.1.ffn_down.weight, expected [64, 32]: not in these tensors");
}

#[test]
fn a14_a_type_that_cannot_be_computed_with_is_named_with_its_tensor() {
    let message = error(|w| w.declare("blk.0.ffn_up.weight", DType::IQ1_S, &[32, 64], Vec::new()));
    let expected = "tensor blk.0.ffn_up.weight is IQ1_S, which can't be computed with; these can: F32, F16, Q4_0";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a13_rows_that_are_no_whole_blocks_are_named_with_type_length_and_block() {
    let message = error(|w| w.declare("blk.0.ffn_up.weight", DType::Q4_K, &[32, 64], Vec::new()));
    assert_eq!(message, "tensor blk.0.ffn_up.weight is Q4_K with rows of 32 values, allowed: multiples of 256");
}

#[test]
fn dimensions_of_one_at_the_end_say_nothing() {
    let mut weights = Tensors::llama(DType::Q8_0, true);
    weights.add("blk.1.ffn_norm.weight", DType::F32, &[32, 1, 1]);
    llama(&weights).unwrap();
}

#[test]
fn extra_tensors_are_ignored_and_optional_ones_found() {
    let mut weights = Tensors::llama(DType::Q8_0, true);
    weights.add("rope.extra", DType::F32, &[7]);
    assert_eq!(body(&weights).unwrap().to_string().matches("bias").count(), 1);
    assert!(!llama(&weights).unwrap()[1].1.to_string().contains(" output.weight"));
}

fn x(t: &Tracer, cols: usize) -> Value {
    t.input(Port::HIDDEN, Type::f32(Dim::Rows, cols))
}

#[test]
fn an_operand_that_does_not_fit_is_an_error_at_the_line_of_the_model() {
    let weights = Tensors::llama(DType::Q8_0, true);
    let t = Tracer::new("g", &weights);
    let w = t.weight("token_embd.weight", VOCAB, WIDTH).unwrap();
    let (x, line) = (x(&t, 7), line!() + 1);
    let message = t.linear(x, w, None).unwrap_err().to_string();
    assert!(message.contains(&format!("trace.rs:{line}:")), "{message}");
    assert!(message.ends_with("linear: operand 1 is q8_0[50, 32], expected a matrix [50, 7]"), "{message}");
}

/// A block that several models share.
#[track_caller]
fn doubled(t: &Tracer, x: Value) -> Result<Value> {
    t.add(x, t.input(Port::LOGITS, Type::f32(Dim::Rows, 3)))
}

#[test]
fn an_error_in_a_shared_block_names_the_line_that_called_it() {
    let weights = Tensors::default();
    let t = Tracer::new("g", &weights);
    let (x, line) = (x(&t, 4), line!() + 1);
    let message = doubled(&t, x).unwrap_err().to_string();
    assert!(message.contains(&format!("trace.rs:{line}:")) && message.contains("map: operand 1 is"), "{message}");
}

#[test]
fn a_value_of_another_graph_is_refused() {
    let weights = Tensors::default();
    let (a, b) = (Tracer::new("a", &weights), Tracer::new("b", &weights));
    let message = b.silu(x(&a, 4)).unwrap_err().to_string();
    assert!(message.ends_with("map: operand 0 belongs to another graph"), "{message}");
}

#[test]
fn a_state_that_is_not_given_back_is_found() {
    let weights = Tensors::default();
    let t = Tracer::new("g", &weights);
    let carry = t.carry();
    let rows = t.begin_step(&carry).unwrap();
    let _lost = t.advance(carry, rows).unwrap();
    let message = t.finish().unwrap_err().to_string();
    assert_eq!(message, "graph g: graph: state carry is taken, but its last version is not an output");
}

#[test]
fn a_state_that_is_taken_twice_is_found() {
    let weights = Tensors::default();
    let t = Tracer::new("g", &weights);
    let (a, b) = (t.cache("k", 0, DType::F16, 1, 8), t.cache("k", 0, DType::F32, 1, 8));
    t.keep(a);
    t.keep(b);
    let message = t.finish().unwrap_err().to_string();
    assert!(message.contains("input 1 (state k): is an input twice"), "{message}");
}

#[test]
fn a_cache_that_cannot_be_encoded_is_refused() {
    let weights = Tensors::default();
    let t = Tracer::new("g", &weights);
    let carry = t.carry();
    let rows = t.begin_step(&carry).unwrap();
    let error = t.kv_write(t.cache("k", 0, DType::Q2_K, 1, 256), x(&t, 256), rows).unwrap_err();
    assert!(error.to_string().contains("kv_write: operand 0 is state q2_k[Slots, 256]"), "{error}");
}

/// Positions are those of the step's rows, which other rows do not have.
#[test]
fn ops_that_look_at_positions_take_the_rows_of_the_step() {
    let weights = Tensors::default();
    let t = Tracer::new("g", &weights);
    let rows = t.begin_step(&t.carry()).unwrap();
    let chosen = t.gather_rows(x(&t, 8)).unwrap();
    let rope = Rope { head_dim: 8, frequencies: [1.0].into(), magnitude: 1.0, pairs: Pairs::Halves };
    let attend = Attend { heads: 1, kv_heads: 1, scale: 1.0, window: None };
    let (k, v) = (t.cache("k", 0, DType::F32, 1, 8), t.cache("v", 0, DType::F32, 1, 8));
    let errors = [
        t.rope(chosen, rows, &rope).unwrap_err(),
        t.attend(chosen, &k, &v, rows, attend).unwrap_err(),
        t.kv_write(k, chosen, rows).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("is f32[LogitRows, 8], expected f32[Rows, "), "{error}");
    }
}

#[test]
fn an_input_of_another_type_is_refused() {
    let weights = Tensors::default();
    let t = Tracer::new("g", &weights);
    t.output(Port::LOGITS, t.silu(x(&t, 4)).unwrap());
    let g = t.finish().unwrap();
    let words = inkstone_tensor::step::StepBuffer::with_capacity(4, 1, 1, 1).encode(0, 0).to_vec();
    let step = inkstone_tensor::step::StepView::new(&words).unwrap();
    let error = g.interpret(&step, |_| Array::from_f32(4, vec![0.0; 8])).unwrap_err();
    assert_eq!(error.to_string(), "port hidden is F32[2, 4], expected f32[Rows, 4]");
}

/// x + 1.
#[derive(Debug)]
struct Increment;

impl CustomOp for Increment {
    fn name(&self) -> &str {
        "increment"
    }
    fn key(&self) -> String {
        "increment 1".to_owned()
    }
    fn infer(&self, ins: &Operands) -> Result<Type, Mismatch> {
        ins.f32(0)
    }
    fn eval(&self, ins: &[Array]) -> Array {
        Array::from_rows(ins[0].rows(), ins[0].cols(), |r, out| {
            out.iter_mut().zip(ins[0].row(r)).for_each(|(o, x)| *o = x + 1.0);
        })
    }
    fn cost(&self, _: &[Type], _: &Type, _: &Sizes) -> Cost {
        Cost::default()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn with_custom() -> Result<Graph> {
    let weights = Tensors::default();
    let t = Tracer::new("g", &weights);
    let y = t.custom(Arc::new(Increment), &[x(&t, 4)])?;
    t.output(Port::LOGITS, t.map(Expr::new(&[Term::In(0), Term::In(0), Term::Mul]), &[t.quantize(y, DType::F32)?])?);
    t.finish()
}

#[test]
fn ops_from_outside_are_nodes_as_others() {
    let text = with_custom().unwrap().to_string();
    assert!(text.contains("f32[Rows, 4]  increment 1\n") && text.contains("  $0 $0 mul\n"), "{text}");
    let with_lines = format!("{:#}", with_custom().unwrap());
    assert!(with_lines.contains("increment 1  # ") && with_lines.contains("trace.rs:"), "{with_lines}");
}

#[test]
fn all_results_of_an_op_can_be_read() {
    let weights = Tensors::default();
    let t = Tracer::new("g", &weights);
    let (x, line) = (x(&t, 8), line!() + 1);
    let made = t.op(parts(x.ty(), 4), &[x]).unwrap();
    assert_eq!(made.iter().map(|v| v.ty()).collect::<Vec<_>>(), [Type::f32(Dim::Rows, 2); 4]);
    t.output(Port::LOGITS, t.add(made[3], made[1]).unwrap());
    let text = format!("{:#}", t.finish().unwrap());
    assert!(text.contains("%1 %2 %3 %4 = parts %0  ") && text.contains("= map %4 %2  "), "{text}");
    assert!(text.contains(&format!("trace.rs:{line}:")), "{text}");
}

#[test]
fn operands_that_do_not_fit_any_op_are_an_error_at_the_line_of_the_model() {
    let weights = Tensors::default();
    let t = Tracer::new("g", &weights);
    let (x, line) = (x(&t, 8), line!() + 1);
    let message = t.op(parts(Type::f32(Dim::Rows, 4), 2), &[x]).unwrap_err().to_string();
    assert!(message.contains(&format!("trace.rs:{line}:")), "{message}");
    assert!(message.ends_with("parts: operand 0 is f32[Rows, 8], expected f32[Rows, 4]"), "{message}");
}
