//! Section A of the list of bad inputs: each test is named after the line that it holds. Counts that make the reader
//! ask for memory are in `allocation.rs`, large files in `scale.rs`.

use crate::common::*;
use inkstone_gguf::{Error, Gguf, Limits, Metadata, OpenOptions, TensorSpec, TensorType, Writer};
use inkstone_tensor::{DType, WeightSource};
use std::path::Path;
use std::sync::Arc;

fn open_error(path: &Path) -> String {
    let message = Gguf::open(path, &OpenOptions::default()).expect_err("no GGUF file").to_string();
    message.strip_prefix(&format!("{}: ", path.display())).expect("the name of the file").to_string()
}

#[test]
fn a01_what_is_no_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        open_error(&path)
    };
    assert_eq!(open_error(&folder.path().join("missing")), "no such file");
    assert_eq!(open_error(folder.path()), "is a directory, wanted a regular file");
    let empty = file("empty", b"");
    assert_eq!(empty, "is empty (it ends at byte 0), but a GGUF header needs it to go on to byte 24");
    let text = file("text", b"Once upon a time");
    assert_eq!(text, "not a GGUF file: it begins with \"Once\" (a text file), wanted \"GGUF\"");
    let binary = file("binary", &[0, 1, 2, 3, 4]);
    assert_eq!(binary, "not a GGUF file: it begins with \"\\x00\\x01\\x02\\x03\", wanted \"GGUF\"");
    let inside_file = folder.path().join("text/model.gguf");
    assert!(open_error(&inside_file).starts_with("can't open the file: "));
}

#[cfg(unix)]
#[test]
fn a01_a_fifo_a_socket_and_a_device_are_named_and_do_not_hang() {
    let folder = tempfile::tempdir().unwrap();
    let (fifo, socket) = (folder.path().join("fifo"), folder.path().join("socket"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(open_error(&fifo)));
    let message = receiver.recv_timeout(std::time::Duration::from_secs(10)).expect("it doesn't wait for a writer");
    assert_eq!(message, "is a FIFO, wanted a regular file");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(open_error(&socket), "is a socket, wanted a regular file");
    assert_eq!(open_error(Path::new("/dev/null")), "is a character device, wanted a regular file");
}

#[cfg(unix)]
#[test]
fn a01_no_permission_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(file.path()).is_ok() {
        println!("not present: a user whom permissions bind (this one is the administrator)");
        return;
    }
    assert!(open_error(file.path()).starts_with("can't open the file: Permission denied"));
}

/// Two keys, two tensors, padding: every kind of part.
fn small_file() -> Vec<u8> {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "llama");
    metadata.insert("tokens", vec!["a", "", "bc"]);
    metadata.insert("scores", vec![1.0f32, 2.0]);
    let tensors = vec![TensorSpec::new("first", DType::F32, &[3]), TensorSpec::new("last", DType::Q8_0, &[32, 2])];
    let mut writer = Writer::new(Vec::new(), &metadata, tensors).unwrap();
    writer.data(&[7; 12 + 68]).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a02_every_prefix_names_the_byte_where_it_ends_and_the_byte_needed() {
    let file = small_file();
    let end = Gguf::from_bytes(Arc::new(file.clone()), "small").unwrap().end_of_data() as usize;
    assert!(end > 200 && end <= file.len());
    for size in 0..end {
        let message = match Gguf::from_bytes(Arc::new(file[..size].to_vec()), "small").unwrap_err() {
            Error::Empty { needed, .. } => {
                assert_eq!((size, needed), (0, 24));
                continue;
            }
            e @ Error::Truncated { needed, size: found, .. } => {
                assert_eq!(found, size as u64);
                assert!(needed > size as u128 && needed <= end as u128, "{e}");
                e.to_string()
            }
            e => panic!("{size} bytes: {e}"),
        };
        assert!(message.contains(&format!("ends at byte {size}, but ")), "{message}");
    }
    for size in end..=file.len() {
        Gguf::from_bytes(Arc::new(file[..size].to_vec()), "padding may be missing").unwrap();
    }
}

#[test]
fn a02_a_prefix_in_a_file_is_refused_like_one_in_memory() {
    let file = small_file();
    let path = tempfile::NamedTempFile::new().unwrap();
    for size in [0, 3, 20, 60, 200] {
        std::fs::write(path.path(), &file[..size]).unwrap();
        for mmap in [true, false] {
            let from_file = Gguf::open(path.path(), &OpenOptions::default().mmap(mmap)).unwrap_err().to_string();
            let name = path.path().display().to_string();
            let from_memory = Gguf::from_bytes(Arc::new(file[..size].to_vec()), &name).unwrap_err().to_string();
            assert_eq!(from_file, from_memory);
        }
    }
}

#[test]
fn a03_versions_other_than_2_and_3_are_refused() {
    for version in [0u32, 1, 4, 1 << 31] {
        let mut raw = Raw::new(0, 0);
        raw.0[4..8].copy_from_slice(&version.to_le_bytes());
        assert_eq!(raw.refused(), format!("test.gguf: version {version}, supported: 2, 3"));
    }
    for version in [2u32, 3] {
        let mut raw = Raw::new(0, 0);
        raw.0[4..8].copy_from_slice(&version.to_le_bytes());
        assert_eq!(raw.clone().open().unwrap().version(), version);
        raw.0[4..8].reverse();
        let wanted = format!("test.gguf: big-endian, version {version}, supported: little-endian, version 2, 3");
        assert_eq!(raw.refused(), wanted);
    }
}

#[test]
fn a05_lengths_of_strings_are_held_against_the_bytes_left() {
    let key = Raw::new(0, 1).key("k", STRING);
    for len in [u64::MAX, 1 << 63, 6] {
        let message = key.clone().u64(len).bytes(b"12345").refused();
        let needed = u128::from(len) + 24 + 9 + 4 + 8;
        let wanted = format!(
            "test.gguf: ends at byte 50, but the value of key 0 \"k\" of {len} bytes at byte 37 needs it to go on to byte {needed}"
        );
        assert_eq!(message, wanted);
    }
    assert_eq!(key.u64(5).bytes(b"12345").open().unwrap().metadata().str("k").unwrap(), Some("12345"));
    for len in [u64::MAX, 1 << 63, 7] {
        let message = Raw::new(0, 1).u64(len).bytes(b"123456").refused();
        assert!(message.contains(&format!("key 0 of {len} bytes at byte 24")), "{message}");
    }
}

#[test]
fn a05_empty_keys_and_names_are_refused() {
    let message = Raw::new(0, 1).key("", U32).u32(1).bytes(&[0; 8]).refused();
    assert_eq!(message, "test.gguf: the length of key 0 at byte 24 is 0, allowed: 1 or more");
    let message = Raw::new(1, 0).tensor("", &[1], F32, 0).data(4).refused();
    assert_eq!(message, "test.gguf: the length of the name of tensor 0 at byte 24 is 0, allowed: 1 or more");
}

#[test]
fn a05_long_keys_and_names_name_the_option() {
    let message = Raw::new(0, 1).key(&"k".repeat(65_536), U32).u32(1).refused();
    assert!(message.ends_with("is 65536, allowed: at most 65535 (option key)"), "{message}");
    let message = Raw::new(1, 0).tensor(&"n".repeat(256), &[1], F32, 0).data(4).refused();
    assert!(message.ends_with("is 256, allowed: at most 255 (option name)"), "{message}");
    Raw::new(1, 0).tensor(&"n".repeat(255), &[1], F32, 0).data(4).open().unwrap();
}

#[test]
fn a06_a_file_of_holes_does_not_become_memory() {
    let head = Raw::new(0, 1).key("k", ARRAY).u32(U64).u64(1 << 27);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &head.0).unwrap();
    if file.as_file().set_len(1 << 40).is_err() {
        println!("not present: a file system with files of 1 TiB");
        return;
    }
    let message = open_error(file.path());
    assert!(message.ends_with("is 1073741873, allowed: at most 536870912 (option head)"), "{message}");
}

#[test]
fn strings_that_end_beyond_the_limit_are_refused_also_where_they_are_at_hand() {
    let strings = (0..100).fold(Raw::new(0, 1).key("k", ARRAY).u32(STRING).u64(100), |raw, _| raw.string("abcd"));
    let bytes = strings.0;
    let open = |head: u64| {
        let mut limits = Limits::default();
        limits.head = head;
        Gguf::from_bytes_with(Arc::new(bytes.clone()), "file", &limits).map(drop).map_err(|e| e.to_string())
    };
    assert_eq!(open(bytes.len() as u64), Ok(()));
    let message = open(bytes.len() as u64 - 1).unwrap_err();
    assert!(message.contains("string 99 of") && message.ends_with("(option head)"), "{message}");
}

#[test]
fn a07_arrays_in_arrays_end_at_the_limit() {
    let nested = |depth: usize| {
        let outer = (1..depth).fold(Raw::new(0, 1).key("k", ARRAY), |raw, _| raw.u32(ARRAY).u64(1));
        outer.u32(U32).u64(2).u32(1).u32(2)
    };
    let four = nested(4).open().unwrap();
    assert_eq!(format!("{:?}", four.metadata().get("k").unwrap()), "Array(Arrays([Arrays([Arrays([U32([1, 2])])])]))");
    for depth in [5, 1_000, 100_000] {
        let message = nested(depth).refused();
        assert!(message.contains("the nesting of arrays in the value of key 0 \"k\""), "{message}");
        assert!(message.ends_with("is 5, allowed: at most 4 (option nesting)"), "{message}");
        let mut limits = Limits::default();
        limits.nesting = u8::MAX;
        let deeper = Gguf::from_bytes_with(Arc::new(nested(depth).0), "test.gguf", &limits);
        assert_eq!(deeper.is_ok(), depth <= 255);
    }
}

#[test]
fn a07_arrays_of_several_arrays_keep_their_order() {
    let lists = Raw::new(0, 1).key("k", ARRAY).u32(ARRAY).u64(4);
    let lists = lists.u32(U32).u64(1).u32(7).u32(STRING).u64(1).string("x").u32(ARRAY).u64(0).u32(BOOL).u64(0);
    let file = lists.open().unwrap();
    let wanted = "Array(Arrays([U32([7]), Strings([\"x\"]), Arrays([]), Bool([])]))";
    assert_eq!(format!("{:?}", file.metadata().get("k").unwrap()), wanted);
}

#[test]
fn a07_arrays_of_unknown_type_or_without_end_are_refused() {
    let message = Raw::new(0, 1).key("k", ARRAY).u32(13).u64(1).u64(0).refused();
    let wanted = "test.gguf: the type of the items of the value of key 0 \"k\" at byte 37 is 13, allowed: 0 to 12";
    assert_eq!(message, wanted);
    let message = Raw::new(0, 1).key("k", ARRAY).u32(ARRAY).u64(1).u32(ARRAY).u64(1).refused();
    assert!(message.contains("ends at byte 61, but "), "{message}");
}

#[test]
fn a08_unknown_types_bools_and_keys_name_index_and_byte() {
    let one = Raw::new(0, 2).key("a", U32).u32(1);
    let message = one.clone().key("b", 13).u64(0).refused();
    assert_eq!(message, "test.gguf: the type of the value of key 1 \"b\" at byte 50 is 13, allowed: 0 to 12");
    let message = one.clone().key("b", BOOL).bytes(&[2]).refused();
    assert_eq!(message, "test.gguf: a bool of the value of key 1 \"b\" at byte 54 is 2, allowed: 0 or 1");
    let message = one.clone().key("b", ARRAY).u32(BOOL).u64(3).bytes(&[0, 1, 255]).refused();
    assert_eq!(message, "test.gguf: a bool of the value of key 1 \"b\" at byte 68 is 255, allowed: 0 or 1");
    let message = one.string(b"ok\xFF").u32(U32).u32(1).refused();
    assert_eq!(message, "test.gguf: key 1 is not UTF-8 at byte 51");
    let message = Raw::new(1, 0).string(b"\xC3").u32(0).u32(F32).u64(0).data(4).refused();
    assert_eq!(message, "test.gguf: the name of tensor 0 is not UTF-8 at byte 32");
}

#[test]
fn a09_what_is_there_twice_is_refused_with_both_places() {
    let message = Raw::new(0, 3).key("a", U32).u32(1).key("b", U32).u32(2).key("a", U32).u32(3).refused();
    assert_eq!(message, "test.gguf: key \"a\" is there twice, at bytes 24 and 58");
    let message = Raw::new(2, 0).tensor("t\n", &[8], F32, 0).tensor("t\n", &[8], F32, 32).data(64).refused();
    assert_eq!(message, "test.gguf: tensor \"t\\n\" is there twice, at bytes 24 and 58");
}

#[test]
fn a10_an_alignment_is_a_power_of_two_from_8_to_1_mib() {
    let with = |value_type, value: u64| {
        let raw = Raw::new(0, 1).key("general.alignment", value_type);
        if value_type == U64 { raw.u64(value) } else { raw.u32(value as u32) }
    };
    let rule = "allowed: a power of two from 8 to 1048576 (option alignment)";
    for value in [0, 3, 4, 24, 1 << 21, 1 << 31] {
        let message = with(U32, value).refused();
        assert_eq!(message, format!("test.gguf: general.alignment is {value}, {rule}"));
    }
    let message = Raw::new(0, 1).key("general.alignment", STRING).string("32").refused();
    assert_eq!(message, format!("test.gguf: general.alignment is string, {rule}"));
    for value in [8, 64, 1 << 20] {
        assert_eq!(with(U32, value).open().unwrap().alignment(), value);
    }
    assert_eq!(with(U64, 128).open().unwrap().alignment(), 128);
    assert_eq!(Raw::new(0, 0).open().unwrap().alignment(), 32);
}

#[test]
fn a11_dimensions_are_at_most_four_and_no_negative_number() {
    for (count, given) in [(5u32, 5), (u32::MAX, 4)] {
        let raw = Raw::new(1, 0).string("t").u32(count).bytes(&[1; 8].repeat(given)).u32(F32).u64(0).data(4);
        let message = raw.refused();
        let wanted = format!("dimensions of tensor 0 \"t\" at byte 33 is {count}, allowed: at most 4 (option dims)");
        assert!(message.ends_with(&wanted), "{message}");
    }
    for d in [u64::MAX, 1 << 63] {
        let message = Raw::new(1, 0).tensor("t", &[1, d], F32, 0).data(4).refused();
        let wanted = "test.gguf: dimension 1 of tensor 0 \"t\" at byte 45 is";
        assert_eq!(message, format!("{wanted} {d}, allowed: 0 to 9223372036854775807"));
    }
}

#[test]
fn a11_a_dimension_of_0_is_listed_and_refused_when_used() {
    for dims in [&[0][..], &[0, 5], &[32, 0], &[32, 0, 7]] {
        let file = Raw::new(2, 0).tensor("t", dims, Q8_0, 0).tensor("u", &[1], F32, 0).data(4).open().unwrap();
        let info = file.tensor("t").unwrap();
        assert_eq!((info.dims.as_slice(), info.bytes, info.values()), (dims, Some(0), 0));
        let wanted = format!("test.gguf: tensor \"t\" can't be used: its dimensions {dims:?} hold no values");
        assert_eq!(file.tensor_data("t").map(|_| ()).unwrap_err().to_string(), wanted);
        assert_eq!(file.weight("t").unwrap_err().to_string(), wanted);
        assert!(WeightSource::bytes(&file, "t").is_err());
        assert_eq!(file.tensor_data("u").unwrap().len, 4);
    }
    // A 0 hides no overflow.
    for dims in [[1 << 40, 1 << 40, 0], [0, 1 << 40, 1 << 40], [1 << 40, 0, 1 << 40]] {
        let message = Raw::new(1, 0).tensor("t", &dims, F32, 0).data(4).refused();
        assert!(message.contains("the number of values of"), "{message}");
    }
}

#[test]
fn a11_no_dimensions_are_a_scalar() {
    let file = Raw::new(1, 0).tensor("t", &[], F32, 0).data(4).open().unwrap();
    assert_eq!((file.tensors()[0].values(), file.tensors()[0].bytes), (1, Some(4)));
    let message = Raw::new(1, 0).tensor("t", &[], Q8_0, 0).data(34).refused();
    assert_eq!(message, "test.gguf: tensor \"t\": rows of 1 values, but Q8_0 has blocks of 32");
}

#[test]
fn a12_each_product_is_checked() {
    let big = i64::MAX as u64;
    let cases: [(&[u64], u32, &str); 6] = [
        (&[1 << 32, 1 << 32], I8, "the number of values"),
        (&[1 << 22, 1 << 22, 1 << 22], Q4_2, "the number of values"), // also where the type is unknown
        (&[1 << 62], F32, "the number of bytes"),                     // of a row
        (&[1 << 31, 1 << 31], F32, "the number of bytes"),            // of all rows
        (&[big], I16, "the number of bytes rounded up"),              // 2^64 - 2
        (&[big, 2], I8, "the number of bytes rounded up"),
    ];
    for (dims, dtype, what) in cases {
        let message = Raw::new(1, 0).tensor("t", dims, dtype, 0).data(64).refused();
        let wanted = format!("test.gguf: tensor \"t\": {what} of {dims:?} is more than 64 bits can count");
        assert_eq!(message, wanted);
    }
    // Every step holds, the file is too short; the sum of offset and size is more than 64 bits.
    let message = Raw::new(1, 0).tensor("t", &[big], I8, u64::MAX - 31).data(64).refused();
    assert_eq!(
        message,
        format!(
            "test.gguf: ends at byte 128, but tensor \"t\" of {big} bytes at offset {} at byte {} needs it to go on to byte {}",
            u64::MAX - 31,
            u128::from(u64::MAX - 31) + 64,
            u128::from(u64::MAX - 31) + 64 + u128::from(big)
        )
    );
}

#[test]
fn a13_a_row_is_whole_blocks() {
    let message = Raw::new(1, 0).tensor("t", &[33, 32], Q8_0, 0).data(4096).refused();
    assert_eq!(message, "test.gguf: tensor \"t\": rows of 33 values, but Q8_0 has blocks of 32");
    let message = Raw::new(1, 0).tensor("t", &[128, 2], Q4_K, 0).data(4096).refused();
    assert_eq!(message, "test.gguf: tensor \"t\": rows of 128 values, but Q4_K has blocks of 256");
    Raw::new(1, 0).tensor("t", &[32, 33], Q8_0, 0).data(34 * 33).open().unwrap();
}

#[test]
fn a14_unknown_removed_and_unrunnable_types_are_listed_and_refused_by_name() {
    let file = Raw::new(3, 0)
        .tensor("old", &[32], Q4_2, 0)
        .tensor("new", &[32], 1000, 32)
        .tensor("known", &[256], 9, 64) // Q8_1
        .data(64 + 288)
        .open()
        .unwrap();
    let listed: Vec<_> = file.tensors().iter().map(|t| (t.dtype.to_string(), t.bytes)).collect();
    let wanted = [("type 4 (Q4_2, removed)", None), ("type 1000 (unknown)", None), ("Q8_1", Some(288))];
    assert_eq!(listed, wanted.map(|(name, bytes)| (name.to_string(), bytes)));
    assert_eq!(file.tensors()[1].dtype, TensorType::Unknown(1000));
    let refusal = |name| file.weight(name).unwrap_err().to_string();
    assert_eq!(refusal("old"), "test.gguf: tensor \"old\" can't be used: its type is type 4 (Q4_2, removed)");
    assert_eq!(refusal("new"), "test.gguf: tensor \"new\" can't be used: its type is type 1000 (unknown)");
    assert_eq!(refusal("known"), "test.gguf: tensor \"known\" can't be used: Inkstone can't compute with Q8_1");
    assert_eq!(refusal("missing"), "test.gguf: no tensor \"missing\"");
    let refusal = |name| WeightSource::bytes(&file, name).map(|_| ()).unwrap_err().to_string();
    assert_eq!(refusal("old"), "tensor old: its type is type 4 (Q4_2, removed)");
    assert_eq!(refusal("known"), "tensor known: Inkstone can't compute with Q8_1");
    assert_eq!(refusal("missing"), "tensor missing: not in test.gguf");
    assert!(file.tensor_data("old").is_err() && file.tensor_data("known").unwrap().len == 288);
}

#[test]
fn a15_offsets_lie_in_the_file_and_on_the_alignment() {
    let at = |offset| Raw::new(1, 0).tensor("t", &[8], F32, offset).data(64);
    at(32).open().unwrap();
    for offset in [64u64, 96, 1 << 40, u64::MAX - 31] {
        let (start, end) = (u128::from(offset) + 64, u128::from(offset) + 96);
        let wanted = format!(
            "test.gguf: ends at byte 128, but tensor \"t\" of 32 bytes at offset {offset} at byte {start} needs it to go on to byte {end}"
        );
        assert_eq!(at(offset).refused(), wanted);
    }
    for offset in [1, 16, 33, u64::MAX] {
        let wanted = format!("test.gguf: tensor \"t\": offset {offset} is not a multiple of the alignment 32");
        assert_eq!(at(offset).refused(), wanted);
    }
    // A tensor whose size nobody knows still begins in the file.
    let unknown = |offset| Raw::new(1, 0).tensor("t", &[8], Q4_2, offset).data(64);
    unknown(32).open().unwrap();
    assert!(unknown(64).refused().contains("ends at byte 128, but tensor \"t\" at offset 64"));
}

#[test]
fn a16_overlap_is_refused_and_names_both() {
    let two = |first: u64, second: u64| {
        Raw::new(2, 0).tensor("b", &[9], F32, second).tensor("a", &[9], F32, first).data(256).refused()
    };
    let wanted =
        "test.gguf: tensors \"a\" and \"b\" overlap: the first ends at byte 132, the second begins at byte 128";
    assert_eq!(two(0, 32), wanted);
    assert!(two(0, 0).contains("overlap"));
    // Inside another, with a third between in the list.
    let three = Raw::new(3, 0).tensor("a", &[64], F32, 0).tensor("b", &[1], F32, 256).tensor("c", &[1], I8, 64);
    assert!(three.data(260).refused().contains("tensors \"a\" and \"c\" overlap"));
    // One of an unknown size owns its first byte.
    let unknown = Raw::new(2, 0).tensor("a", &[1], 1000, 32).tensor("b", &[16], F32, 0).data(64);
    assert!(unknown.refused().contains("tensors \"b\" and \"a\" overlap"));
}

#[test]
fn a16_gaps_and_any_order_are_fine() {
    let head = Raw::new(3, 0)
        .tensor("last", &[8], F32, 1 << 30)
        .tensor("first", &[8], F32, 0)
        .tensor("second", &[8], F32, 32)
        .data(0);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &head.0).unwrap();
    let size = head.0.len() as u64 + (1 << 30) + 32;
    file.as_file().set_len(size).unwrap(); // a hole, no bytes on the disk
    for mmap in [true, false] {
        let gguf = Gguf::open(file.path(), &OpenOptions::default().mmap(mmap)).unwrap();
        assert_eq!((gguf.end_of_data(), gguf.trailing_bytes()), (size, 0));
        assert_eq!(gguf.tensor_data("last").unwrap().as_slice(), [0; 32]);
    }
}

#[test]
fn a17_bytes_after_the_last_tensor_are_fine_and_counted() {
    for (more, trailing) in [(0, 0), (28, 0), (29, 1), (1000, 972)] {
        let file = Raw::new(1, 0).tensor("t", &[1], F32, 0).data(4 + more).open().unwrap();
        assert_eq!((file.end_of_data(), file.trailing_bytes()), (68, trailing));
    }
    let file = Raw::new(0, 0).bytes(&[1; 100]).open().unwrap();
    assert_eq!((file.end_of_data(), file.trailing_bytes()), (24, 92));
}

#[test]
fn a19_without_the_map_a_file_that_shrinks_is_an_error_value() {
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), small_file()).unwrap();
    let file = Gguf::open(path.path(), &OpenOptions::default().mmap(false)).unwrap();
    assert!(!file.is_mapped());
    let held = file.tensor_data("first").unwrap();
    path.as_file().set_len(file.data_start() + 20).unwrap();
    let message = file.tensor_data("last").map(|_| ()).unwrap_err().to_string();
    let wanted = format!("can't read tensor \"last\" at byte {}: ", file.data_start() + 32);
    assert!(message.contains(&wanted), "{message}");
    assert!(WeightSource::bytes(&file, "last").is_err());
    assert_eq!(held.as_slice(), [7; 12]);
}

#[test]
fn a19_a_file_that_is_replaced_stays_the_one_that_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("a.gguf"), folder.path().join("b.gguf"));
    for mmap in [true, false] {
        std::fs::write(&path, small_file()).unwrap();
        std::fs::write(&other, b"another file").unwrap();
        let file = Gguf::open(&path, &OpenOptions::default().mmap(mmap)).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(file.tensor_data("first").unwrap().as_slice(), [7; 12]);
    }
}
