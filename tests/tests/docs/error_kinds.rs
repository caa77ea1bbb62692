//! The kind of every error that reaches a user of the library: each variant of each error enum has a row, and the sources say
//! that none is missing.

use inkstone::compute::{Port, Region};
use inkstone::graph::Kind as GraphKind;
use inkstone::tensor::op::Mismatch;
use inkstone::tensor::sampling::ChainError;
use inkstone::tensor::step::StepError;
use inkstone::tensor::{DType, NoMemory, SourceError};
use inkstone::text::{TemplateError, TemplateLimits, Tokenizer};
use inkstone::{ChatTemplate, Conversation, ErrorKind, Message, arch, compute, generate, gguf, graph, kvcache, text};
use std::collections::BTreeSet;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The rows of one enum: a variant, its kind, the kind that it must have. A field without a value has the default one.
macro_rules! kinds {
    (@value) => { Default::default() };
    (@value $value:expr) => { $value };
    ($error:ty: $($variant:ident $({ $($field:ident $(= $value:expr)?),* })? $(($inner:expr))? => $kind:ident;)+) => {{
        type E = $error;
        vec![$({
            let error = E::$variant $({ $($field: kinds!(@value $($value)?)),* })? $(($inner))?;
            (stringify!($variant), error.kind(), ErrorKind::$kind)
        }),+]
    }};
}

type Rows = Vec<(&'static str, ErrorKind, ErrorKind)>;

const AT: &Location<'static> = Location::caller();
const MEMORY: NoMemory = NoMemory { bytes: 1 };

fn io(kind: io::ErrorKind) -> io::Error {
    io::Error::from(kind)
}

fn missing_file() -> gguf::Error {
    gguf::Error::NotFound { file: String::new() }
}

fn unread() -> SourceError {
    SourceError { tensor: String::new(), reason: String::new() }
}

fn unusable() -> generate::SessionError {
    let (file, field) = (String::new(), "version");
    generate::SessionError::Unusable { file, field, found: String::new(), expected: String::new() }
}

fn unwritten(kind: io::ErrorKind) -> generate::SessionError {
    generate::SessionError::Io { file: String::new(), action: "write the file", source: io(kind) }
}

fn mismatch() -> Mismatch {
    Mismatch { operand: 0, found: String::new(), expected: String::new() }
}

fn bias() -> ChainError {
    ChainError::Token { stage: "bias", token: 9, vocab: 8 }
}

/// What a chat template says of a conversation.
fn template(source: &str, change: impl FnOnce(&mut TemplateLimits)) -> Box<TemplateError> {
    let mut limits = TemplateLimits::default();
    change(&mut limits);
    let tokenizer = Tokenizer::from_metadata(inkstone::embedded_file().unwrap().metadata()).unwrap();
    let conversation = Conversation::new(vec![Message::user("Hello!")]);
    let rendered = ChatTemplate::new(source).and_then(|t| t.render_within(&conversation, &tokenizer, &limits));
    match rendered.expect_err(source) {
        text::Error::Template(error) => error,
        other => panic!("{source}: {other}"),
    }
}

fn of_gguf() -> Rows {
    kinds! { gguf::Error:
        NotFound { file } => NotFound;
        NotAFile { file, kind } => Unsupported;
        Io { file, action, source = io(io::ErrorKind::PermissionDenied) } => Engine;
        Io { file, action, source = io(io::ErrorKind::NotFound) } => NotFound;
        Io { file, action, source = io(io::ErrorKind::OutOfMemory) } => OutOfMemory;
        Empty { file, needed } => Unsupported;
        NotGguf { file, found } => Unsupported;
        Version { file, version } => Unsupported;
        BigEndian { file, version } => Unsupported;
        Truncated { file, what, at, needed, size } => Unsupported;
        Invalid { file, what, at, found, allowed } => Unsupported;
        Limit { file, what, at, found, limit, option } => Unsupported;
        NotUtf8 { file, what, at } => Unsupported;
        Duplicate { file, kind, name, first, second } => Unsupported;
        Alignment { file, found, max } => Unsupported;
        Overflow { file, tensor, what, dims } => Unsupported;
        RowNotBlocks { file, tensor, dtype, cols, block } => Unsupported;
        Misaligned { file, tensor, offset, alignment } => Unsupported;
        Overlap { file, first, second, end, start } => Unsupported;
        OutOfMemory { file, what, bytes } => OutOfMemory;
        WrongType { key, found, wanted } => Unsupported;
        OutOfRange { key, value, wanted } => Unsupported;
        ValueNotUtf8 { key, at, len } => Unsupported;
        NoTensor { file, tensor } => NotFound;
        Unusable { file, tensor, reason } => Unsupported;
        Unwritable { what, found, allowed } => InvalidRequest;
        Write { source = io(io::ErrorKind::StorageFull) } => Engine;
        DataLength { found, wanted } => InvalidRequest;
    }
}

fn of_text() -> Rows {
    let (past, on) = (Instant::now(), Arc::new(AtomicBool::new(true)));
    kinds! { text::Error:
        Metadata(missing_file()) => NotFound;
        MissingKey { key, model } => Unsupported;
        UnknownModel { name, known } => Unsupported;
        UnknownPre { name, known } => Unsupported;
        ShortList { key, found, tokens } => Unsupported;
        TooMany { key, found, max } => Unsupported;
        TokenNotUtf8 { id, at } => Unsupported;
        TokenType { id, value } => Unsupported;
        ByteToken { id, text } => Unsupported;
        NanScore { id } => Unsupported;
        SpecialId { key, id, tokens } => Unsupported;
        NoSpecialId { flag, key } => Unsupported;
        LongSpecial { id, bytes, max } => Unsupported;
        LongSpecials { id, max } => Unsupported;
        TextTooLong { bytes, max } => InvalidRequest;
        NoToken { byte, character } => InvalidRequest;
        NotUtf8 { at } => InvalidRequest;
        Template(template("{{ 1", |_| ())) => Unsupported;
        Template(template("{{ ''.__class__.__mro__ }}", |_| ())) => Unsupported;
        Template(template("{{ raise_exception('no') }}", |_| ())) => InvalidRequest;
        Template(template("{{ 1 / 0 }}", |_| ())) => InvalidRequest;
        Template(template("{{ messages[9].content + '' }}", |_| ())) => InvalidRequest;
        Template(template("{{ messages }}", |limits| limits.output = Some(1))) => InvalidRequest;
        Template(template("{{ messages }}", |limits| limits.cancel = Some(on))) => Cancelled;
        Template(template("{{ messages }}", |limits| limits.deadline = Some(past))) => Cancelled;
        TemplateVariable { name, reserved } => InvalidRequest;
        Message { what, value } => InvalidRequest;
        TooDeep { max } => InvalidRequest;
        OutOfMemory { what } => OutOfMemory;
    }
}

fn of_compute() -> Rows {
    kinds! { compute::Error:
        NoKernel { engine, op, operands, reasons } => Unsupported;
        NoEngine { name, known } => InvalidRequest;
        NoIsa { engine, isa, known } => InvalidRequest;
        Budget { what, bytes, free, budget, engine } => OutOfMemory;
        NoMemory { what, source = MEMORY } => OutOfMemory;
        Source(unread()) => Engine;
        WeightType { tensor, found, expected } => Unsupported;
        Cancelled => Cancelled;
        BadPlan { plan, step, op, fault } => Engine;
        Unbound { plan, region = Region::Arena, bytes, bound } => Engine;
        SharedBuffer { plan, first, second } => Engine;
        OutOfBuffer { offset, end, bytes } => Engine;
        Foreign { what, engine } => Engine;
        NotBack { ticket, range, reason } => Engine;
        Injected { call = compute::conformance::Call::Submit } => Engine;
        Earlier(Arc::new(compute::Error::Cancelled)) => Cancelled;
        Step(StepError { what: "rows", value: 1, allowed: Some(0) }) => Engine;
        TooLarge { what, value, limit, plan } => Engine;
        NoDevice { engine, reason } => Unsupported;
        DeviceLost { engine, reason } => Engine;
        NoExecutor { engine, exec, known } => Engine;
        Hazard { first, second, bytes } => Engine;
        KernelEntry { kernel, engine, expected } => Engine;
        KernelResult { plan, step, op, found, expected } => Engine;
        Differs { plan, step, op, kernel, fault } => Engine;
        Panicked { plan, step, op, message } => Engine;
    }
}

fn of_graph() -> Rows {
    kinds! { graph::Error:
        Operand { at = AT, op, mismatch = mismatch() } => Unsupported;
        ForeignValue { at = AT, op, operand } => Engine;
        MissingWeight { tensor, expected, reason } => Unsupported;
        WeightShape { tensor, found, expected } => Unsupported;
        WeightType { tensor, dtype = DType::I32, allowed } => Unsupported;
        WeightBlocks { tensor, dtype = DType::Q8_0, cols, block } => Unsupported;
        Invalid { graph, faults } => Engine;
        Input { source_name, found, expected } => Engine;
        Disagree { what, first, graph, second } => Engine;
        NoPlaces { state, group } => Engine;
        Unserved { what, engine, reasons } => Unsupported;
        Activations { kernel, dtype = DType::F16, op, mismatch = mismatch() } => Engine;
        Tiling { kernel, op, rows, cols } => Engine;
        ArenaSize { graph, rows, logit_rows } => OutOfMemory;
        Memory { plan, step, op, fault } => Engine;
        NoBucket { what, value, largest } => Engine;
        Kind { kind = GraphKind::BODY, count } => Engine;
        EmptyStep => Engine;
        NoBuckets { engine, what } => Engine;
        UnknownFusion { name, known } => InvalidRequest;
        Compute { graph, source = compute::Error::NoMemory { what: "", source: MEMORY } } => OutOfMemory;
    }
}

fn of_kvcache() -> Rows {
    kinds! { kvcache::Error:
        UnknownFormat { name, known } => InvalidRequest;
        PageSize { tokens, most } => InvalidRequest;
        TooSmall { tokens, page } => InvalidRequest;
        Groups { groups, first, most } => InvalidRequest;
        NoMemory { pages } => OutOfMemory;
        NoPages { wanted, free, capacity } => Busy;
        NotHeld { page } => Engine;
        FreePage { page, capacity } => Engine;
        Positions { start, end, len } => Engine;
        Boundary { len, page } => Engine;
        Length { len, least, most } => Engine;
        OtherText { page, start, end } => Engine;
        SecondTree { pages } => Engine;
        OtherPool { nodes } => Engine;
    }
}

fn of_model() -> Rows {
    kinds! { arch::Error:
        UnknownArchitecture { name, known } => Unsupported;
        NotYet { what, key, value } => Unsupported;
        MissingKey { key, what } => Unsupported;
        BadValue { key, value, allowed } => Unsupported;
        Factors { tensor, found, pairs } => Unsupported;
        NoTensors => Unsupported;
        Groups { groups, most } => Unsupported;
        Sees { op, group } => Unsupported;
        Metadata(missing_file()) => NotFound;
        Graph(graph::Error::EmptyStep) => Engine;
        Source(unread()) => Engine;
    }
}

fn of_generate() -> Rows {
    kinds! { generate::Error:
        Option { option, value, allowed } => InvalidRequest;
        Chain(bias()) => InvalidRequest;
        EmptyPrompt => InvalidRequest;
        PromptTooLong { tokens, context } => InvalidRequest;
        NoSuchToken { id, place, vocab } => InvalidRequest;
        NanLogits { token } => Engine;
        NoTokenLeft { token, stage } => InvalidRequest;
        NoRecord { token, status } => Engine;
        NoCarry => Engine;
        NoPort { port = Port::ROWS } => Engine;
        NoExecutor => Engine;
        NoArena => Engine;
        ModelMemory { engine, weights, values, cache, memory } => OutOfMemory;
        Binding { engine, what, unit, needs, most } => OutOfMemory;
        Busy => Busy;
        QueueFull { limit } => Busy;
        NoThread(io(io::ErrorKind::WouldBlock)) => Busy;
        Callback("the reader left".into()) => Cancelled;
        NoMemory { what, source = MEMORY } => OutOfMemory;
        Recommended(bias()) => Unsupported;
        Text(text::Error::TooDeep { max: 1 }) => InvalidRequest;
        Metadata(missing_file()) => NotFound;
        Graph(graph::Error::EmptyStep) => Engine;
        Cache(kvcache::Error::NoMemory { pages: 1 }) => OutOfMemory;
        Engine(compute::Error::Cancelled) => Cancelled;
        Session(generate::SessionError::Extra { bytes: 1, most: 0 }) => InvalidRequest;
        Session(unusable()) => Unsupported;
        Session(unwritten(io::ErrorKind::NotFound)) => NotFound;
        Session(unwritten(io::ErrorKind::OutOfMemory)) => OutOfMemory;
        Session(unwritten(io::ErrorKind::StorageFull)) => Engine;
        Panicked => Engine;
        Closed(Box::new(generate::Error::Busy)) => Engine;
        Shared(Arc::new(generate::Error::Panicked)) => Engine;
    }
}

fn of_inkstone() -> Rows {
    kinds! { inkstone::Error:
        File(missing_file()) => NotFound;
        Model(arch::Error::NoTensors) => Unsupported;
        Text(text::Error::TooDeep { max: 1 }) => InvalidRequest;
        Generate(generate::Error::Busy) => Busy;
        Engine(compute::Error::Cancelled) => Cancelled;
        Option { option, value, allowed } => InvalidRequest;
        NoConversation { file, reason } => Unsupported;
        ContextMemory { context, bytes, free, largest } => OutOfMemory;
        Refused { engines = vec![(String::new(), inkstone::Error::Engine(compute::Error::Cancelled))] } => Cancelled;
    }
}

/// The variants of the enum `Error` of a source file.
fn variants(source: &str) -> BTreeSet<&str> {
    let body = source.split_once("pub enum Error {\n").unwrap().1.split_once("\n}\n").unwrap().0;
    let names = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = names.filter(|line| line.starts_with(char::is_uppercase));
    names.map(|line| line.split([' ', '(', ',']).next().unwrap()).collect()
}

#[test]
fn every_error_has_its_kind() {
    macro_rules! source {
        ($folder:literal) => {
            include_str!(concat!("../../../crates/", $folder, "/src/error.rs"))
        };
    }
    let all = [
        ("gguf", source!("gguf"), of_gguf()),
        ("text", source!("text"), of_text()),
        ("compute", source!("compute"), of_compute()),
        ("graph", source!("graph"), of_graph()),
        ("kvcache", source!("kvcache"), of_kvcache()),
        ("model", source!("model"), of_model()),
        ("generate", source!("generate"), of_generate()),
        ("inkstone", source!("inkstone"), of_inkstone()),
    ];
    for (name, source, rows) in all {
        for (variant, kind, wanted) in &rows {
            assert_eq!(kind, wanted, "{name}: {variant}");
        }
        let listed: BTreeSet<&str> = rows.iter().map(|row| row.0).collect();
        assert_eq!(listed, variants(source), "{name}: the variants with a row, and those of the enum");
    }
}
