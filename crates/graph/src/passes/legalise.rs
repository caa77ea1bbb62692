//! The dtypes that chosen kernels want: a value is quantized once, for all of its readers that want the same dtype.

use super::{Context, Report};
use crate::graph::{Graph, Source};
use crate::{Error, Result};
use inkstone_tensor::body::{Node, ValueId};
use inkstone_tensor::ops::Quantize;
use inkstone_tensor::{DType, Op, Type};
use smallvec::smallvec;
use std::collections::BTreeMap;

/// See the [module](self).
///
/// # Errors
/// [`Error::Compute`] for a node without a kernel, [`Error::Activations`] if a kernel requires an encoding of
/// activations that is not possible.
pub fn legalise(g: &mut Graph, cx: &Context) -> Result<Report> {
    let sources = g.sources();
    let (nodes, lines) = (std::mem::take(&mut g.body.nodes), std::mem::take(&mut g.at));
    let mut quantized: BTreeMap<(ValueId, DType), ValueId> = BTreeMap::new();
    for (mut node, at) in nodes.into_iter().zip(lines) {
        let kernel = cx.kernel(g, &sources, &node)?.kernel;
        if let Some(dtype) = kernel.activations {
            let refused = |op: &Op, mismatch| {
                let (kernel, op) = (kernel.name, op.name().to_owned());
                Error::Activations { kernel, dtype, op, mismatch }
            };
            for i in 0..node.ins.len() {
                let v = node.ins[i];
                let weight = matches!(sources.get(v.at()), Some(Some(Source::Weight(_))));
                if weight || !wants(g.body.ty(v), dtype) {
                    continue;
                }
                node.ins[i] = match quantized.get(&(v, dtype)) {
                    Some(known) => *known,
                    None => {
                        let op = Op::from(Quantize { to: dtype });
                        let types = op.infer(&[g.body.ty(v)]).map_err(|m| refused(&op, m))?;
                        let made = g.body.value(types[0]);
                        g.body.nodes.push(Node { op, ins: smallvec![v], outs: smallvec![made] });
                        g.at.push(at);
                        quantized.insert((v, dtype), made);
                        made
                    }
                };
            }
            node.op.infer(&g.body.types_of(&node.ins)).map_err(|m| refused(&node.op, m))?;
        }
        g.body.nodes.push(node);
        g.at.push(at);
    }
    let mut counts: BTreeMap<DType, usize> = BTreeMap::new();
    quantized.keys().for_each(|(_, dtype)| *counts.entry(*dtype).or_default() += 1);
    let mut report = Report::default();
    for (dtype, n) in counts {
        let at = format!("{n} values to {dtype} (up to {} rows, {} logit rows)", cx.bucket.rows, cx.bucket.logit_rows);
        report.add(Report::line("legalise", g.name.as_str(), at));
    }
    Ok(report)
}

/// Activations are matrices of f32 that are neither weights nor states.
fn wants(ty: Type, dtype: DType) -> bool {
    ty.dtype == DType::F32 && !ty.state && dtype != DType::F32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::select::select;
    use crate::{Tracer, test_support};
    use inkstone_compute::{Caps, Kernel, Numerics, Pattern, Port, Registry};
    use inkstone_tensor::{Dim, Sizes};

    /// Linear wants Q8_0, with weights in bf16 Q8_A; all else takes what there is.
    fn registry() -> Registry {
        let linear = |name, weights, numerics, to| {
            let (implements, activations) = (Pattern::Named("linear"), Some(to));
            Kernel { implements, weights, numerics, activations, ..test_support::kernel(name) }
        };
        let kernels = vec![
            linear("linear.q8", &[DType::F32], Numerics("q8"), DType::Q8_0),
            linear("linear.q8_a", &[DType::BF16], Numerics("q8_a"), DType::Q8_A),
            test_support::kernel("eval"),
        ];
        Registry { kernels, ..test_support::registry() }
    }

    /// The sum of products of the same activations with these weights.
    fn legalised(cols: usize, names: &[&str]) -> Result<Graph> {
        let caps = Caps::made_up("made-up");
        let weights = test_support::Shapes(&[
            ("a", DType::F32, &[64, 64]),
            ("b", DType::F32, &[64, 64]),
            ("c", DType::F32, &[33, 33]),
            ("other", DType::BF16, &[64, 64]),
        ]);
        let t = Tracer::new("g", &weights);
        let x = t.input(Port::HIDDEN, Type::f32(Dim::Rows, cols));
        let product = |name: &&str| t.linear(x, t.weight(name, cols, cols)?, None);
        let products = names.iter().map(product).collect::<Result<Vec<_>>>()?;
        let sum = products.into_iter().map(Ok).reduce(|a, b| t.add(a?, b?));
        t.output(Port::LOGITS, sum.unwrap()?);
        let mut g = t.finish()?;
        let buckets = [Sizes { rows: 8, logit_rows: 8, slots: Default::default() }];
        let registry = registry();
        let (selection, _) = select(&[(&g, &buckets)], &caps, &registry)?;
        let cx = Context { caps: &caps, registry: &registry, selection: &selection, bucket: buckets[0], without: &[] };
        legalise(&mut g, &cx)?;
        Ok(g)
    }

    #[test]
    fn a_value_is_quantized_once_for_all_who_want_it() {
        let g = legalised(64, &["a", "b"]).unwrap();
        assert_eq!(g.faults(), []);
        let names: Vec<&str> = g.body.nodes.iter().map(|n| n.op.name()).collect();
        assert_eq!(names, ["quantize", "linear", "linear", "map"]);
        assert_eq!(g.body.ty(g.body.nodes[1].ins[0]).dtype, DType::Q8_0);
        assert_eq!(g.body.nodes[1].ins[0], g.body.nodes[2].ins[0]);
    }

    #[test]
    fn a_value_is_quantized_once_to_each_dtype_that_is_wanted() {
        let g = legalised(64, &["a", "other", "b", "other"]).unwrap();
        assert_eq!(g.faults(), []);
        let of = |name: &str| g.body.nodes.iter().filter(|n| n.op.name() == name).collect::<Vec<_>>();
        let read: Vec<DType> = of("linear").iter().map(|n| g.body.ty(n.ins[0]).dtype).collect();
        assert_eq!(read, [DType::Q8_0, DType::Q8_A, DType::Q8_0, DType::Q8_A]);
        assert_eq!(of("quantize").len(), 2);
    }

    #[test]
    fn rows_that_are_no_whole_blocks_are_an_error() {
        let error = legalised(33, &["c"]).unwrap_err().to_string();
        assert!(
            error.starts_with("kernel linear.q8 wants activations in Q8_0: quantize: operand 0 is f32[Rows, 33]"),
            "{error}"
        );
    }
}
