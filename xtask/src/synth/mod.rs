//! `cargo xtask synth NAME TYPE`: model files of real shapes with random weights, for benchmarks.
//!
//! Such a file has the tensors, types, vocabulary and metadata of the real one, and takes the same time to load and to
//! compute. The generated text is noise.

mod blocks;
mod mix;
mod random;
mod shapes;
mod vocabulary;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use inkstone_gguf::{TensorSpec, Writer};
use inkstone_tensor::DType;

use crate::error::Error;
use mix::{FILE_TYPES, FileType};
use random::Random;
use shapes::{Role, SHAPES, Shape, Tensor};

/// Bytes that are made before they are written.
const PIECE: usize = 4 << 20;

/// The options of the command.
struct Options {
    shape: &'static Shape,
    file_type: &'static FileType,
    output: PathBuf,
    seed: u64,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        let usage = |message: String| Error::Usage { message };
        let (mut words, mut output, mut seed) = (Vec::new(), None, 1);
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| usage(format!("{word} needs a value")));
            match word.as_str() {
                "-o" | "--output" => output = Some(PathBuf::from(value()?)),
                "--seed" => {
                    let text = value()?;
                    seed = text.parse().map_err(|_| usage(format!("--seed {text} is not a whole number")))?;
                }
                _ if word.starts_with('-') => {
                    return Err(usage(format!("{word} is not an option of synth; it has -o FILE, --seed N")));
                }
                _ => words.push(word.as_str()),
            }
        }
        let names = |all: Vec<&str>| all.join(", ");
        let [name, file_type] = words[..] else {
            return Err(usage(format!(
                "synth takes a name and a type; names: {}; types: {}",
                names(SHAPES.iter().map(|s| s.name).collect()),
                names(FILE_TYPES.iter().map(|t| t.name).collect()),
            )));
        };
        let shape = SHAPES.iter().find(|s| s.name == name).ok_or_else(|| {
            usage(format!("{name} is not a shape; known are {}", names(SHAPES.iter().map(|s| s.name).collect())))
        })?;
        let file_type = FILE_TYPES.iter().find(|t| t.name == file_type).ok_or_else(|| {
            usage(format!(
                "{file_type} is not a type; known are {}",
                names(FILE_TYPES.iter().map(|t| t.name).collect())
            ))
        })?;
        let output = output.unwrap_or_else(|| format!("{}-{}.gguf", shape.name, file_type.name).into());
        Ok(Self { shape, file_type, output, seed })
    }
}

/// Writes the file that the arguments ask for. It has its name when it is whole.
pub fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    let options = Options::parse(arguments)?;
    let mut unfinished = options.output.clone().into_os_string();
    unfinished.push(".part");
    let unfinished = PathBuf::from(unfinished);
    let at = |source| Error::File { path: unfinished.clone(), source };
    let file = File::create(&unfinished).map_err(at)?;
    let written = write(&options, BufWriter::with_capacity(1 << 20, file));
    let named = written.and_then(|()| {
        fs::rename(&unfinished, &options.output).map_err(|source| Error::File { path: options.output.clone(), source })
    });
    if named.is_err() {
        // The error that stopped the writing is returned.
        let _ = fs::remove_file(&unfinished);
    }
    named?;
    eprintln!("{}: {} bytes", options.output.display(), size(&options.output)?);
    Ok(ExitCode::SUCCESS)
}

fn size(path: &Path) -> Result<u64, Error> {
    let metadata = fs::metadata(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    Ok(metadata.len())
}

fn write(options: &Options, out: impl Write) -> Result<(), Error> {
    let Options { shape, file_type, seed, .. } = options;
    let mut metadata = shape.metadata(file_type.id);
    shape.vocabulary.describe(*seed, &mut metadata);
    let tensors: Vec<(Tensor, DType)> =
        shape.tensors().into_iter().map(|t| (file_type.of(shape, &t), t)).map(|(d, t)| (t, d)).collect();
    let specs = tensors.iter().map(|(t, dtype)| {
        let dims = [t.cols as u64, t.rows as u64];
        TensorSpec::new(t.name.as_str(), *dtype, if t.rows == 1 { &dims[..1] } else { &dims })
    });
    let mut writer = Writer::new(out, &metadata, specs.collect())?;
    let total: u64 = tensors.iter().map(|(t, dtype)| bytes(t, *dtype) as u64).sum();
    let bar = ProgressBar::new(total).with_message(options.output.display().to_string());
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes}") {
        bar.set_style(style);
    }
    let mut random = Random::new(*seed);
    let mut piece = vec![0; PIECE];
    for (tensor, dtype) in &tensors {
        if *dtype == DType::F32 {
            let values = vector(shape, tensor, &mut random);
            writer.data(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
            continue;
        }
        // Products keep the size of their inputs.
        let size = (tensor.cols as f32).sqrt().recip();
        let mut left = bytes(tensor, *dtype);
        let whole = PIECE - PIECE % dtype.block_bytes();
        while left > 0 {
            let now = &mut piece[..left.min(whole)];
            blocks::fill(*dtype, size, &mut random, now);
            writer.data(now)?;
            left -= now.len();
            bar.inc(now.len() as u64);
        }
    }
    writer.finish()?;
    bar.finish_and_clear();
    Ok(())
}

/// Bytes of a tensor; its rows are whole blocks, since [`FileType::of`] chose the type.
fn bytes(tensor: &Tensor, dtype: DType) -> usize {
    tensor.cols / dtype.block() * dtype.block_bytes() * tensor.rows
}

/// The values of tensors other than matrices.
fn vector(shape: &Shape, tensor: &Tensor, random: &mut Random) -> Vec<f32> {
    let around =
        |mean: f32, random: &mut Random| (0..tensor.cols).map(|_| mean + 0.2 * (random.unit() - 0.5)).collect();
    match tensor.role {
        Role::RopeFactors => shape.rope_factors(shape.rope_factor.unwrap_or(1.0)),
        Role::Norm => around(1.0, random),
        _ => around(0.0, random),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_gguf::{Gguf, OpenOptions};

    fn parse(line: &str) -> Result<Options, Error> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_a_shape_a_type_and_options() {
        let options = parse("qwen3-0.6b q6_k --seed 7").unwrap();
        assert_eq!((options.output.to_str().unwrap(), options.seed), ("qwen3-0.6b-q6_k.gguf", 7));
        assert_eq!(parse("qwen3-0.6b q6_k -o x.gguf").unwrap().output, Path::new("x.gguf"));
        for (line, named) in [
            ("qwen3 q6_k", "qwen3 is not a shape; known are llama-3.2-1b"),
            ("qwen3-0.6b q7", "q7 is not a type; known are f16"),
            ("qwen3-0.6b q6_k --seed x", "--seed x"),
            ("qwen3-0.6b q6_k --color", "--color"),
            ("qwen3-0.6b", "names: llama-3.2-1b"),
        ] {
            let error = parse(line).err().unwrap().to_string();
            assert!(error.contains(named), "{line}: {error}");
        }
    }

    /// Sizes of the published files: <https://huggingface.co/bartowski/Llama-3.2-1B-Instruct-GGUF>.
    #[test]
    fn sizes_are_about_those_of_the_real_files() {
        for (name, megabytes) in [
            ("llama-3.2-1b q4_k_m", 808),
            ("llama-3.2-1b q8_0", 1321),
            ("llama-3.2-1b q6_k", 1022),
            ("llama-3.2-1b q4_0", 771),
            ("qwen2.5-0.5b q4_k_m", 398),
            ("gemma-3-1b q8_0", 1069),
        ] {
            let options = parse(name).unwrap();
            let tensors = options.shape.tensors();
            let data: usize = tensors.iter().map(|t| bytes(t, options.file_type.of(options.shape, t))).sum();
            let off = data as f64 / 1e6 - f64::from(megabytes);
            assert!((-12.0..2.0).contains(&off), "{name}: {data} bytes");
        }
    }

    /// The reader takes it, and the same seed gives the same bytes.
    #[test]
    fn a_file_reads_back_and_comes_out_the_same_again() {
        const SMALL: Shape = Shape { layers: 2, width: 256, hidden: 512, heads: 4, kv_heads: 2, ..SHAPES_0 };
        const SHAPES_0: Shape = Shape { vocabulary: &vocabulary::TINYLLAMA, ..SHAPES[0] };
        let folder = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        for output in ["a.gguf", "b.gguf"] {
            let output = folder.path().join(output);
            let options = Options { shape: &SMALL, file_type: &FILE_TYPES[4], output: output.clone(), seed: 3 };
            write(&options, File::create(&output).unwrap()).unwrap();
            let file = Gguf::open(&output, &OpenOptions::default()).unwrap();
            assert_eq!(file.tensors().len(), SMALL.tensors().len());
            assert_eq!(file.metadata().u32("llama.block_count").unwrap(), Some(2));
            assert!(file.tensor_data("blk.1.attn_v.weight").unwrap().as_slice().iter().any(|b| *b != 0));
            files.push(fs::read(&output).unwrap());
        }
        assert!(files[0] == files[1]);
    }
}
