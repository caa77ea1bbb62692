use super::*;
use crate::{Tracer, test_support};
use inkstone_compute::{Kernel, Pattern, Port};
use inkstone_tensor::step::ROWS;

const PANEL: Layout = Layout("panel16");
const Q8: Numerics = Numerics("q8");

fn buckets() -> [Sizes; 2] {
    [1, 512].map(|rows| Sizes { rows, logit_rows: rows.min(64), slots: inkstone_tensor::Slots::one_group(64) })
}

/// A tied embedding, another matrix, a norm and a bias, in two graphs.
fn graphs() -> [Graph; 2] {
    let weights = test_support::Shapes(&[
        ("embd", DType::Q8_0, &[32, 50]),
        ("w", DType::Q8_0, &[32, 32]),
        ("norm", DType::F32, &[32]),
        ("bias", DType::F32, &[32]),
    ]);
    let t = Tracer::new("body", &weights);
    let rows = t.input(Port::ROWS, ROWS);
    let x = t.embed(rows, t.weight("embd", 50, 32).unwrap()).unwrap();
    let x = t.rms_norm(x, t.vector("norm", 32).unwrap(), 1e-5).unwrap();
    t.output(Port::HIDDEN, t.linear(x, t.weight("w", 32, 32).unwrap(), t.vector("bias", 32).unwrap()).unwrap());
    let body = t.finish().unwrap();
    let t = Tracer::new("head", &weights);
    let x = t.gather_rows(t.input(Port::HIDDEN, Type::f32(Dim::Rows, 32))).unwrap();
    t.output(Port::LOGITS, t.linear(x, t.weight("embd", 50, 32).unwrap(), None).unwrap());
    [body, t.finish().unwrap()]
}

fn kernel(name: &'static str, op: &'static str, layouts: &'static [Layout], numerics: Numerics) -> Kernel {
    Kernel { implements: Pattern::Named(op), layouts, numerics, ..test_support::kernel(name) }
}

/// The choice for these kernels; all ops but `linear` and `embed` have theirs.
fn chosen(kernels: Vec<Kernel>) -> Result<Selection> {
    let others = ["rms_norm", "gather_rows"].map(|op| kernel("eval", op, &[Layout::FILE], Numerics::DEFINITION));
    let kernels = kernels.into_iter().chain(others).collect();
    let registry = Registry { engine: "made-up", layouts: vec![PANEL, Layout::FILE], kernels, outside: 0 };
    let ([body, head], buckets) = (graphs(), buckets());
    let all: [Buckets; 2] = [(&body, &buckets), (&head, &buckets)];
    select(&all, &Caps::made_up("made-up"), &registry).map(|(s, _)| s)
}

const BOTH: &[Layout] = &[PANEL, Layout::FILE];

fn weight(s: &Selection, name: &str) -> (Layout, Numerics) {
    s.weight(name).map(|w| (w.layout, w.numerics)).unwrap()
}

#[test]
fn the_best_layout_that_serves_all_uses_wins() {
    let s = chosen(vec![kernel("l", "linear", BOTH, Q8), kernel("e", "embed", BOTH, Numerics::DEFINITION)]).unwrap();
    assert_eq!((weight(&s, "embd"), weight(&s, "w")), ((PANEL, Q8), (PANEL, Q8)));
    assert_eq!(s.ops["embed embd"], Numerics::DEFINITION, "it only decodes");
    assert_eq!(weight(&s, "bias"), (Layout::FILE, Q8), "a vector has the numerics of its reader");
    assert_eq!(weight(&s, "norm"), (Layout::FILE, Numerics::DEFINITION));
}

#[test]
fn the_layout_of_a_tied_embedding_serves_embed_and_linear() {
    let file = &[Layout::FILE];
    let s = chosen(vec![kernel("l", "linear", BOTH, Q8), kernel("e", "embed", file, Numerics::DEFINITION)]).unwrap();
    assert_eq!((weight(&s, "embd").0, weight(&s, "w").0), (Layout::FILE, PANEL));
}

#[test]
fn the_numerics_of_a_weight_serves_all_buckets() {
    let fast = Kernel { rows: 8, ..kernel("fast", "linear", BOTH, Q8) };
    let any = kernel("any", "linear", BOTH, Numerics("f32"));
    let s = chosen(vec![fast.clone(), any, kernel("e", "embed", BOTH, Numerics::DEFINITION)]).unwrap();
    assert_eq!(weight(&s, "w").1, Numerics("f32"), "q8 has no kernel for 512 rows");
    let error = chosen(vec![fast, kernel("e", "embed", BOTH, Numerics::DEFINITION)]).unwrap_err().to_string();
    for part in ["tensor w (Q8_0)", "engine made-up", "linear", "Q8_0 in layout panel16", "fast (512 rows > 8)"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn an_op_without_a_kernel_is_named() {
    let error = chosen(vec![kernel("l", "linear", BOTH, Q8)]).unwrap_err().to_string();
    assert!(
        error.contains("no kernel for embed on [Q8_0 in layout panel16]") && error.contains("layout file"),
        "{error}"
    );
    let graphs = graphs();
    let registry = Registry { kernels: vec![], ..test_support::registry() };
    let error = select(&[(&graphs[1], &buckets())], &Caps::made_up("made-up"), &registry).unwrap_err().to_string();
    assert!(error.contains("none implements it"), "{error}");
}

#[test]
fn ids_are_those_of_the_first_graph_that_names_them() {
    let s = chosen(vec![kernel("l", "linear", BOTH, Q8), kernel("e", "embed", BOTH, Q8)]).unwrap();
    let names: Vec<&str> = s.interface().weights.iter().map(|w| &*w.name).collect();
    assert_eq!(names, ["embd", "norm", "w", "bias"]);
    assert_eq!(s.interface().port(Port::HIDDEN), Some(Type::f32(Dim::Rows, 32)));
}

#[test]
fn graphs_that_disagree_are_refused() {
    let t = Tracer::new("other", &test_support::Shapes(&[]));
    t.output(Port::LOGITS, t.silu(t.input(Port::HIDDEN, Type::f32(Dim::Rows, 16))).unwrap());
    let other = t.finish().unwrap();
    let [body, _] = graphs();
    let all: [Buckets; 2] = [(&body, &buckets()), (&other, &buckets())];
    let error = select(&all, &Caps::made_up("made-up"), &test_support::registry()).unwrap_err().to_string();
    assert_eq!(error, "port hidden is f32[Rows, 16] in graph other, but f32[Rows, 32] before");
}

#[test]
fn matrices_that_meet_in_a_node_are_one_group() {
    let meet = |matrices: &[u32]| Use {
        op: Op::from(Quantize { to: DType::F32 }),
        matrices: matrices.to_vec(),
        rows: vec![],
        ins: vec![],
        outs: vec![],
        class: String::new(),
    };
    let groups = groups(&[meet(&[0]), meet(&[1, 2]), meet(&[3]), meet(&[2, 3]), meet(&[])], 5);
    assert_eq!(groups, [BTreeSet::from([0]), BTreeSet::from([1, 2, 3])]);
}
