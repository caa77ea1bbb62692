//! Conditions for any bytes that are read as a GGUF file. The fuzz target and the test that replays its corpus share them.

use inkstone_gguf::{Gguf, TensorSpec, Writer};
use std::sync::Arc;

/// Opens the bytes as a file. If that works, every tensor is returned or refused, every key is found, and the file has the
/// same contents after it was written again. Returns whether it opens.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(file) = Gguf::from_bytes(Arc::new(bytes.to_vec()), "fuzz") else { return false };
    for (key, value) in file.metadata().iter() {
        assert!(file.metadata().get(key).is_some_and(|v| std::ptr::eq(v, value)), "{key:?}");
        let (_, _, _) = (file.metadata().u32(key), file.metadata().f32(key), file.metadata().bool(key));
        let (_, _, _) = (file.metadata().str(key), file.metadata().f32s(key), file.metadata().i32s(key));
    }
    for info in file.tensors() {
        assert_eq!(file.tensor(&info.name), Some(info));
        if let Ok(data) = file.tensor_data(&info.name) {
            assert_eq!(data.as_slice().len() as u64, info.bytes.unwrap_or(0));
        }
    }
    written_again_reads_the_same(&file);
    true
}

/// Skipped for files with tensors of unknown type, which can't be written.
fn written_again_reads_the_same(file: &Gguf) {
    let spec = |info: &inkstone_gguf::TensorInfo| Some(TensorSpec::new(&info.name, info.dtype.known()?, &info.dims));
    let Some(tensors) = file.tensors().iter().map(spec).collect::<Option<Vec<_>>>() else { return };
    let mut writer = Writer::new(Vec::new(), file.metadata(), tensors).expect("the contents can be written");
    for info in file.tensors() {
        if info.bytes != Some(0) {
            writer.data(file.tensor_data(&info.name).expect("it has bytes").as_slice()).expect("memory takes all");
        }
    }
    let again = Gguf::from_bytes(Arc::new(writer.finish().expect("all is there")), "again").expect("it was written");
    // As text, because a NaN is not equal to itself.
    assert_eq!(format!("{:?}", again.metadata()), format!("{:?}", file.metadata()));
    assert_eq!(again.tensors().len(), file.tensors().len());
    for (a, b) in again.tensors().iter().zip(file.tensors()) {
        assert_eq!((&a.name, a.dtype, &a.dims, a.bytes), (&b.name, b.dtype, &b.dims, b.bytes));
        if let (Ok(a), Ok(b)) = (again.tensor_data(&a.name), file.tensor_data(&b.name)) {
            assert_eq!(a.as_slice(), b.as_slice());
        }
    }
}
