use super::*;
use crate::{EngineOptions, Pattern, Reference, ReferenceKernel};
use std::collections::BTreeSet;

fn measured(kernels: &[Kernel]) -> Vec<Measured> {
    let options = EngineOptions::default().budget(1 << 30);
    let options = kernels.iter().fold(options, |options, kernel| options.with_kernel(kernel.clone()));
    let mut all = Vec::new();
    run(&Reference::new(&options).unwrap(), &TINY, &[DType::Q8_0], |measured| all.push(measured));
    all
}

#[test]
fn sampled_columns_are_whole_groups_from_the_first_to_the_last() {
    let sampled = columns(512, 96);
    assert_eq!((sampled.len(), sampled[0], sampled[32], sampled[95]), (96, 0, 224, 511));
    assert_eq!(columns(64, 64), (0..64).collect::<Vec<_>>());
}

#[test]
fn definitions_agree_with_themselves_on_every_case() {
    let all = measured(&[]);
    let faults: Vec<&Measured> = all.iter().filter(|m| m.fault.is_some() || m.time.is_zero() || m.bytes == 0).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let ops: BTreeSet<&str> = all.iter().map(|m| m.op.as_str()).collect();
    for op in [
        "linear",
        "embed",
        "attend",
        "kv_write",
        "rms_norm",
        "layer_norm",
        "rope",
        "map",
        "quantize",
        "gather_rows",
        "columns",
        "history_write",
        "sample",
    ] {
        assert!(ops.contains(op), "{op}: {ops:?}");
    }
}

#[test]
fn a_wrong_last_column_is_found() {
    let wrong: ReferenceKernel = |op, step, ins| {
        let mut outs = op.eval(step, ins);
        outs[0].all_mut::<f32>().last_mut().into_iter().for_each(|x| *x += 100.0);
        outs
    };
    let all = measured(&[Kernel::by_definition("wrong", Pattern::Named("linear"), Arc::new(wrong))]);
    let faults = |kernel: &str| all.iter().filter(|m| m.kernel == kernel && m.fault.is_some()).count();
    assert_eq!((faults("wrong"), faults("eval")), (TINY.rows.len(), 0), "{all:?}");
}
