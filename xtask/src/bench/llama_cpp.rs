//! llama.cpp through llama-cpp-python, built from its source distribution in folders of their own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::peer::{Starter, context};
use super::protocol::Process;
use super::record::Test;
use crate::command::Program;
use crate::error::Error;
use crate::workspace::Workspace;

const VERSION: &str = "0.3.36";
const SCRIPT: &str = "bench/peers/llama-cpp.py";
/// Of a failed build's output.
const SHOWN_LINES: usize = 40;
/// The instruction sets of a processor without AVX-512.
const AVX2: &str =
    "-DGGML_NATIVE=OFF -DGGML_AVX512=OFF -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON";
/// Of llama.cpp's own programs, without what needs other libraries.
const PROGRAMS: &str = "-DCMAKE_BUILD_TYPE=Release -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF \
    -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_MTMD=OFF -DLLAMA_OPENSSL=OFF";

/// An installed build.
pub struct LlamaCpp {
    script: PathBuf,
    python: PathBuf,
    /// llama.cpp's program that continues a prompt.
    pub completion: PathBuf,
    /// Where filled caches are kept.
    states: PathBuf,
}

/// How it is run. The best of these counts for each test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    pub repack: bool,
    pub mmap: bool,
    pub flash: bool,
    /// glibc's huge pages, which llama.cpp does not ask for itself.
    pub huge_pages: bool,
}

impl Variant {
    /// All that may be the fastest at a test. Flash attention is off in two that show whether it pays.
    pub fn all() -> Vec<Self> {
        let with = |repack, mmap, flash| Self { repack, mmap, flash, huge_pages: false };
        let modes = [(true, true), (true, false), (false, true), (false, false)];
        let alike = modes.map(|(repack, mmap)| with(repack, mmap, true));
        alike.into_iter().chain([with(true, true, false), with(false, true, false)]).collect()
    }

    pub const HUGE_PAGES: Self = Self { repack: true, mmap: false, flash: true, huge_pages: true };

    pub fn name(self) -> String {
        let word = |yes, name: &str| if yes { name.to_owned() } else { format!("no {name}") };
        let mut name = format!("{}, {}", word(self.repack, "repack"), word(self.mmap, "mmap"));
        if !self.flash {
            name += ", no flash attention";
        }
        if self.huge_pages {
            name += ", glibc's huge pages";
        }
        name
    }
}

impl LlamaCpp {
    /// Installs what is missing, and says how long that takes.
    pub fn install(workspace: &Workspace, isa: Option<&str>) -> Result<Self, Error> {
        let (name, flags) = match isa {
            Some("avx2") => ("avx2", AVX2),
            _ => ("native", "-DGGML_NATIVE=ON"),
        };
        let peers = workspace.target().join("peers");
        let folder = peers.join(format!("llama-cpp-{name}"));
        let done = folder.join(format!("installed-{VERSION}"));
        if !done.exists() {
            let start = Instant::now();
            println!("llama-cpp-python {VERSION}, {name}: being built in {}", folder.display());
            std::fs::create_dir_all(&folder).map_err(at(&folder))?;
            build(&folder, flags)?;
            std::fs::write(&done, "").map_err(at(&done))?;
            println!("llama-cpp-python {VERSION}, {name}: built in {:.0} s", start.elapsed().as_secs_f64());
        }
        let states = peers.join("states");
        std::fs::create_dir_all(&states).map_err(at(&states))?;
        Ok(Self {
            script: workspace.root().join(SCRIPT),
            python: folder.join("venv/bin/python"),
            completion: folder.join("programs/bin/llama-completion"),
            states,
        })
    }

    pub fn name() -> String {
        format!("llama.cpp (llama-cpp-python {VERSION})")
    }

    pub fn starter(&self, variant: Variant) -> Starter<'_> {
        Box::new(move |model, test| Ok(Box::new(self.start(model, test, variant)?)))
    }

    pub fn start(&self, model: &Path, test: &Test, variant: Variant) -> Result<Process, Error> {
        let mut command = Command::new(&self.python);
        command.arg("-B").arg(&self.script).arg(model);
        for (name, value) in [
            ("--threads", test.threads.to_string()),
            ("--sequences", test.sequences.to_string()),
            ("--context", context(test).to_string()),
            ("--repack", u8::from(variant.repack).to_string()),
            ("--load", if variant.mmap { "mmap" } else { "none" }.to_owned()),
            ("--flash", if variant.flash { "auto" } else { "off" }.to_owned()),
        ] {
            command.args([name, &value]);
        }
        if let Some(name) = model.file_name() {
            command.arg("--states").arg(self.states.join(name));
        }
        if variant.huge_pages {
            command.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
        }
        Process::start(&variant.name(), command)
    }
}

/// A virtual environment with the package, and llama.cpp's programs out of the same source.
fn build(folder: &Path, flags: &str) -> Result<(), Error> {
    let run = |log: &str, program: Program| {
        let (name, log) = (program.name().to_owned(), folder.join(log));
        let output = program.env("PIP_DISABLE_PIP_VERSION_CHECK", "1").run(&log)?;
        if output.success {
            return Ok(());
        }
        let (status, output) = (output.status, output.text.lines().rev().take(SHOWN_LINES));
        let output = output.collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n");
        Err(Error::Failed { program: name, status, output })
    };
    let bin = folder.join("venv/bin");
    let pip = |line: &str| Program::new("venv/bin/pip", folder).args(line.split_whitespace());
    let package = format!("llama-cpp-python=={VERSION}");
    run("venv.log", Program::new("python3 -m venv venv", folder))?;
    // No wheel of a cache: it may be of another machine, or of other flags.
    let install = pip("install --no-cache-dir --no-binary llama-cpp-python").arg(&package);
    run("install.log", install.env("CMAKE_ARGS", format!("{flags} -DLLAVA_BUILD=OFF")))?;
    run("tools.log", pip("install cmake ninja"))?;
    run("source.log", pip("download --no-deps --no-binary llama-cpp-python --dest source").arg(&package))?;
    run("unpack.log", Program::new("tar -xzf", folder).arg(format!("source/llama_cpp_python-{VERSION}.tar.gz")))?;
    let source = format!("llama_cpp_python-{VERSION}/vendor/llama.cpp");
    let configure = Program::new("venv/bin/cmake -G Ninja -B programs -S", folder).arg(source);
    let configure = configure.args(PROGRAMS.split_whitespace()).args(flags.split_whitespace());
    run("configure.log", configure.arg(format!("-DCMAKE_MAKE_PROGRAM={}", bin.join("ninja").display())))?;
    run("programs.log", Program::new("venv/bin/cmake --build programs --target llama-completion llama-bench", folder))
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { path: path.clone(), source }
}
