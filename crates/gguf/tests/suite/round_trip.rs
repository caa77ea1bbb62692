//! The reader returns the written values, from a file or from memory, mapped or not, and never panics on damaged files.

use crate::{common, gguf_reader};
use inkstone_gguf::{Array, Gguf, Metadata, OpenOptions, Strings, TensorSpec, Value, Writer};
use inkstone_tensor::{DTYPES, DType, WeightSource};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Numbers that are equal to themselves.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u8>().prop_map(Value::U8),
        any::<i8>().prop_map(Value::I8),
        any::<u16>().prop_map(Value::U16),
        any::<i16>().prop_map(Value::I16),
        any::<u32>().prop_map(Value::U32),
        any::<i32>().prop_map(Value::I32),
        proptest::num::f32::NORMAL.prop_map(Value::F32),
        any::<bool>().prop_map(Value::Bool),
        any::<Vec<u8>>().prop_map(Value::String),
        any::<u64>().prop_map(Value::U64),
        any::<i64>().prop_map(Value::I64),
        proptest::num::f64::NORMAL.prop_map(Value::F64),
    ]
}

fn flat_array() -> impl Strategy<Value = Array> {
    prop_oneof![
        any::<Vec<u8>>().prop_map(Array::U8),
        any::<Vec<i8>>().prop_map(Array::I8),
        any::<Vec<u16>>().prop_map(Array::U16),
        any::<Vec<i16>>().prop_map(Array::I16),
        any::<Vec<u32>>().prop_map(Array::U32),
        any::<Vec<i32>>().prop_map(Array::I32),
        proptest::collection::vec(proptest::num::f32::NORMAL, 0..9).prop_map(Array::F32),
        any::<Vec<bool>>().prop_map(Array::Bool),
        proptest::collection::vec(any::<Vec<u8>>(), 0..9)
            .prop_map(|v| Array::Strings(v.into_iter().collect::<Strings>())),
        any::<Vec<u64>>().prop_map(Array::U64),
        any::<Vec<i64>>().prop_map(Array::I64),
        proptest::collection::vec(proptest::num::f64::NORMAL, 0..9).prop_map(Array::F64),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let array =
        flat_array().prop_recursive(3, 12, 3, |inner| proptest::collection::vec(inner, 0..4).prop_map(Array::Arrays));
    prop_oneof![number(), array.prop_map(Value::Array)]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    (proptest::collection::vec(("\\PC{1,20}", value()), 0..8), proptest::option::of(3u32..10)).prop_map(
        |(entries, alignment)| {
            let mut metadata = Metadata::new();
            entries.into_iter().for_each(|(key, value)| drop(metadata.insert(&key, value)));
            if let Some(power) = alignment {
                metadata.insert("general.alignment", 1u32 << power);
            }
            metadata
        },
    )
}

fn tensors() -> impl Strategy<Value = Vec<TensorSpec>> {
    let types: Vec<DType> = DTYPES.iter().filter(|t| t.gguf.is_some()).map(|t| t.dtype).collect();
    let tensor = (proptest::sample::select(types), proptest::collection::vec(0u64..4, 0..=4));
    proptest::collection::vec(tensor, 0..6).prop_map(|list| {
        let spec = |(i, (dtype, mut dims)): (usize, (DType, Vec<u64>))| {
            // The first dimension counts blocks; a scalar must be of a type without.
            let dtype = if dims.is_empty() && dtype.block() > 1 { DType::F32 } else { dtype };
            dims.iter_mut().take(1).for_each(|d| *d *= dtype.block() as u64);
            TensorSpec::new(format!("tensor.{i}"), dtype, &dims)
        };
        list.into_iter().enumerate().map(spec).collect()
    })
}

fn bytes_of(spec: &TensorSpec) -> usize {
    let values: u64 = spec.dims.iter().product();
    values as usize / spec.dtype.block() * spec.dtype.block_bytes()
}

/// Writes with data that count up, in pieces of a given size.
fn write(metadata: &Metadata, specs: &[TensorSpec], piece: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), metadata, specs.to_vec()).unwrap();
    let total: usize = specs.iter().map(bytes_of).sum();
    let data: Vec<u8> = (0..total).map(|i| (i % 251) as u8).collect();
    data.chunks(piece).for_each(|c| writer.data(c).unwrap());
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(metadata in metadata(), specs in tensors(), piece in 1usize..200) {
        let file = Gguf::from_bytes(Arc::new(write(&metadata, &specs, piece)), "written").unwrap();
        prop_assert_eq!(file.metadata(), &metadata);
        prop_assert_eq!(file.tensors().len(), specs.len());
        let mut next = 0usize;
        for (info, spec) in file.tensors().iter().zip(&specs) {
            prop_assert_eq!((&info.name, info.dtype.known(), &info.dims), (&spec.name, Some(spec.dtype), &spec.dims));
            prop_assert_eq!(info.offset % file.alignment(), 0);
            prop_assert_eq!(info.bytes, Some(bytes_of(spec) as u64));
            if let Ok(data) = file.tensor_data(&info.name) {
                prop_assert!(data.as_slice().iter().enumerate().all(|(i, &b)| b == ((next + i) % 251) as u8));
            }
            next += bytes_of(spec);
        }
        prop_assert_eq!(file.trailing_bytes(), 0);
    }

    #[test]
    fn flipped_bytes_never_panic(
        metadata in metadata(),
        specs in tensors(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut bytes = write(&metadata, &specs, 64);
        for (place, byte) in flips {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        gguf_reader::check(&bytes);
    }
}

#[test]
fn every_single_byte_of_a_file_may_be_anything() {
    let bytes = common::Raw::new(1, 2)
        .key("a", common::STRING)
        .string("text")
        .key("b", common::ARRAY)
        .u32(common::STRING)
        .u64(2)
        .string("x")
        .string("")
        .tensor("t", &[32, 2], common::Q8_0, 0)
        .data(68)
        .0;
    assert!(gguf_reader::check(&bytes));
    for place in 0..bytes.len() {
        for value in [0, 1, 2, 9, 127, 128, 254, 255] {
            let mut changed = bytes.clone();
            changed[place] = value;
            gguf_reader::check(&changed);
        }
    }
}

#[test]
fn mapped_read_and_embedded_files_are_the_same() {
    let specs = [TensorSpec::new("a", DType::F32, &[5]), TensorSpec::new("b", DType::Q8_0, &[32, 9])];
    let bytes = write(&Metadata::new(), &specs, 100);
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), &bytes).unwrap();
    let embedded = Gguf::from_bytes(Arc::new(bytes), "embedded").unwrap();
    let mapped = Gguf::open(path.path(), &OpenOptions::default()).unwrap();
    let read = Gguf::open(path.path(), &OpenOptions::default().mmap(false)).unwrap();
    assert_eq!((embedded.is_mapped(), mapped.is_mapped(), read.is_mapped()), (false, cfg!(unix), false));
    for name in ["a", "b"] {
        let wanted = embedded.tensor_data(name).unwrap();
        for file in [&mapped, &read] {
            let data = file.tensor_data(name).unwrap();
            assert_eq!(data.as_slice(), wanted.as_slice());
            assert_eq!(data.as_slice().as_ptr() as usize % 32, 0, "kernels want aligned bytes");
        }
    }
}

/// Behind its end a tensor has padding, the next tensor, or bytes that belong to none.
#[test]
fn reads_of_a_tensor_end_where_it_ends() {
    let sizes = [("padded", 3), ("whole", 16), ("last", 17)];
    let specs = sizes.map(|(name, values)| TensorSpec::new(name, DType::F32, &[values]));
    let mut bytes = write(&Metadata::new(), &specs, 100);
    bytes.extend([0xee; 300]);
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), &bytes).unwrap();
    let files = [
        Gguf::open(path.path(), &OpenOptions::default()).unwrap(),
        Gguf::open(path.path(), &OpenOptions::default().mmap(false)).unwrap(),
        Gguf::from_bytes(Arc::new(bytes), "embedded").unwrap(),
    ];
    let mut start = 0;
    for (name, values) in sizes {
        let size = 4 * values;
        let wanted: Vec<u8> = (start..start + size).map(|i| (i % 251) as u8).collect();
        start += size;
        let near = (0..=size + 130).chain([u64::from(u32::MAX), 1 << 32, i64::MAX as u64, 1 << 63]);
        let offsets: Vec<u64> = near.chain((u64::MAX - 130)..=u64::MAX).collect();
        for (file, &offset) in files.iter().flat_map(|file| offsets.iter().map(move |offset| (file, offset))) {
            // From the offset to about the end, and a line or a few more.
            let to_end = size.saturating_sub(offset);
            let around = [to_end.saturating_sub(1), to_end, to_end + 1, to_end + 63, to_end + 64, to_end + 130];
            for len in around.into_iter().chain([0, 1, 31, 32, 33, size, size + 1]) {
                let case = format!("{len} bytes from {offset} on of {name}, {file:?}");
                let mut into = vec![0xaa; len as usize];
                let read = file.read_tensor(name, offset, &mut into);
                let mut by_source = vec![0xaa; len as usize];
                let source = WeightSource::read(file, name, offset, &mut by_source);
                if u128::from(offset) + u128::from(len) <= u128::from(size) {
                    read.unwrap();
                    source.unwrap();
                    let range = offset as usize..(offset + len) as usize;
                    assert_eq!([&into[..], &by_source[..]], [&wanted[range]; 2], "{case}");
                } else {
                    let message = read.expect_err(&case).to_string();
                    assert!(message.contains(&format!("can't read tensor {name:?}")), "{case}: {message}");
                    assert!(message.contains(&format!("the tensor has {size} bytes")), "{case}: {message}");
                    assert_eq!(source.expect_err(&case).tensor, name, "{case}");
                }
            }
        }
    }
}

#[test]
fn a_tensor_that_is_held_is_not_read_again() {
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), write(&Metadata::new(), &[TensorSpec::new("a", DType::F32, &[5])], 100)).unwrap();
    let file = Gguf::open(path.path(), &OpenOptions::default().mmap(false)).unwrap();
    let (one, two) = (file.tensor_data("a").unwrap(), file.tensor_data("a").unwrap());
    assert!(std::ptr::eq(one.as_slice(), two.as_slice()));
}

#[test]
fn the_writer_refuses_what_the_reader_would() {
    let refused = |metadata: &Metadata, specs: &[TensorSpec]| {
        Writer::new(Vec::new(), metadata, specs.to_vec()).map(|_| ()).unwrap_err().to_string()
    };
    let tensor = |name: &str, dtype, dims: &[u64]| refused(&Metadata::new(), &[TensorSpec::new(name, dtype, dims)]);
    assert_eq!(tensor("", DType::F32, &[1]), "can't write tensor \"\" with a name length of 0, allowed: 1 to 255");
    assert!(tensor("t", DType::F32, &[1; 5]).ends_with("with a number of dimensions of 5, allowed: 0 to 4"));
    assert!(tensor("t", DType::U8, &[1]).contains("tensor \"t\" of U8"));
    assert!(tensor("t", DType::F32, &[1 << 62]).contains("the number of bytes"));
    assert!(tensor("t", DType::Q8_0, &[33]).contains("blocks of 32"));
    let twice = [TensorSpec::new("t", DType::F32, &[1]), TensorSpec::new("t", DType::F32, &[1])];
    assert!(refused(&Metadata::new(), &twice).contains("the name \"t\", twice"));
    let mut metadata = Metadata::new();
    metadata.insert("general.alignment", 3u32);
    assert!(refused(&metadata, &[]).contains("power of two"));
    metadata.insert("general.alignment", 32u32);
    metadata.insert("deep", (0..4).fold(Array::U8(vec![]), |inner, _| Array::Arrays(vec![inner])));
    assert!(refused(&metadata, &[]).contains("key \"deep\" with a nesting of arrays of 5"));
}

#[test]
fn the_writer_counts_the_data() {
    let start = || Writer::new(Vec::new(), &Metadata::new(), vec![TensorSpec::new("t", DType::F32, &[2])]).unwrap();
    let mut short = start();
    short.data(&[0; 7]).unwrap();
    assert_eq!(short.finish().unwrap_err().to_string(), "7 bytes of tensor data, but the tensors have 8");
    let message = start().data(&[0; 9]).unwrap_err().to_string();
    assert_eq!(message, "9 bytes of tensor data, but the tensors have 8");
}

/// Every GGUF file below a folder.
fn gguf_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gguf_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "gguf") {
            found.push(path);
        }
    }
}

#[test]
fn files_that_other_programs_wrote_read_the_same_after_they_were_written_again() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let outside = std::env::var_os("INKSTONE_ORACLE").map_or_else(|| root.join("../shared/oracle"), PathBuf::from);
    for folder in [root.join("tests/oracle"), root.join("crates/inkstone/assets"), outside] {
        let mut files = Vec::new();
        gguf_files(&folder, &mut files);
        if files.is_empty() {
            println!("not present: GGUF files in {}", folder.display());
        }
        for path in files {
            assert!(gguf_reader::check(&std::fs::read(&path).unwrap()), "{}", path.display());
            Gguf::open(&path, &OpenOptions::default()).unwrap();
        }
    }
}
