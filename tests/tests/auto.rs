//! `auto` takes the next engine if one does not run the model. These engines are registered for the whole process, so these
//! tests have a program of their own.

use inkstone::compute::{Caps, Engine, EngineOptions, Error as ComputeError, Factory, Kernel, Registry};
use inkstone::{Error, Model, ModelOptions, Options, engines};
use inkstone_tests::assets;
use inkstone_tests::described::{Asked, Described};
use std::sync::{Arc, Mutex};

fn open(options: &ModelOptions) -> inkstone::Result<Model> {
    Model::open_with(assets("story-5m-q8_0.gguf"), options)
}

/// An engine with some of the kernels of another one.
struct Fewer {
    inner: Described,
    registry: Registry,
}

impl Fewer {
    fn new(inner: Described, keep: impl Fn(&Kernel) -> bool) -> Fewer {
        let mut registry = inner.registry().clone();
        registry.kernels.retain(keep);
        Fewer { inner, registry }
    }
}

impl Engine for Fewer {
    inkstone::compute::pass_on! { inner: caps alloc alloc_all weight_bytes warm load prepare queue draws gauge }

    fn registry(&self) -> &Registry {
        &self.registry
    }
}

#[test]
fn auto_takes_the_first_engine_that_runs_the_model() {
    let asked = Arc::new(Asked::default());
    let told = Arc::new(Mutex::new(Vec::new()));
    let (small, fewer, seen) = (asked.clone(), asked.clone(), told.clone());
    let absent: Factory = Arc::new(move |options: &EngineOptions| {
        seen.lock().unwrap().push(options.auto);
        Err(ComputeError::NoIsa { engine: "absent".to_owned(), isa: "a device".to_owned(), known: "none".to_owned() })
    });
    engines::register("absent", absent);
    engines::register(
        "fewer",
        Arc::new(move |options: &EngineOptions| {
            let inner = Described::new(options, |_| (), fewer.clone())?;
            Ok(Arc::new(Fewer::new(inner, |k| !k.name.contains("attend"))) as _)
        }),
    );
    engines::register(
        "small",
        Arc::new(move |options: &EngineOptions| {
            Ok(Arc::new(Described::new(options, |caps| caps.memory = 4 << 20, small.clone())?) as _)
        }),
    );
    assert_eq!(engines::names(), ["small", "fewer", "absent", "wgpu", "cpu", "reference"]);

    let model = open(&ModelOptions::default().threads(1)).unwrap();
    assert_eq!(model.engine().caps().name, "cpu");
    let [small, fewer] = ["small", "fewer"].map(|name| {
        let start = format!("engine {name} does not run this model: ");
        let note = model.notes().iter().find_map(|note| note.strip_prefix(&start));
        note.unwrap_or_else(|| panic!("{:?}", model.notes())).to_owned()
    });
    assert!(small.starts_with("the model needs ") && small.contains("which has 4194304"), "{small}");
    assert!(fewer.contains("attend"), "{fewer}");
    // No device is a reason that needs no note.
    assert!(!model.notes().iter().any(|note| note.contains("absent")), "{:?}", model.notes());
    assert_eq!(*told.lock().unwrap(), [Some(model.graph().weight_bytes())]);
    assert!(model.graph().weight_bytes() > 5 << 20);
    assert!(asked.all().is_empty(), "memory of an engine that does not run the model: {asked:?}");
    let ids = |model: &Model| {
        let options = Options::default().temperature(0.0).max_tokens(5);
        model.generate("Once upon a time", &options).unwrap().ids
    };
    let direct = open(&ModelOptions::default().engine("cpu").threads(1)).unwrap();
    assert!(direct.notes().iter().all(|note| !note.contains("does not run")), "{:?}", direct.notes());
    assert_eq!(ids(&model), ids(&direct));

    // A model that no engine runs, not even `cpu`: `reference` is not tried, and an engine without a device is no reason.
    let error = open(&ModelOptions::default().threads(1).budget(1 << 20)).unwrap_err();
    let Error::Refused { engines } = &error else { panic!("{error}") };
    assert_eq!(engines.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["small", "fewer", "cpu"]);
    assert_eq!((error.kind(), error.is_lack_of_memory_for_weights()), (inkstone::ErrorKind::OutOfMemory, true));
    let text = error.to_string();
    assert!(engines.iter().all(|(name, reason)| text.contains(&format!("{name}: {reason}"))), "{text}");

    // An engine that is asked for by name is the only one, and is told so.
    told.lock().unwrap().clear();
    let error = open(&ModelOptions::default().engine("small")).unwrap_err();
    assert!(matches!(error, Error::Generate(_)), "{error}");
    assert!(open(&ModelOptions::default().engine("absent")).is_err());
    assert_eq!(*told.lock().unwrap(), [None]);

    // Memory that is only assumed has a note.
    engines::register(
        "guessing",
        Arc::new(|options: &EngineOptions| {
            let guessed = |caps: &mut Caps| (caps.memory, caps.memory_known) = (4 << 30, false);
            Ok(Arc::new(Described::new(options, guessed, Arc::default())?) as _)
        }),
    );
    let model = open(&ModelOptions::default().engine("guessing")).unwrap();
    assert!(model.notes().iter().any(|note| note.contains("4294967296 bytes are assumed")), "{:?}", model.notes());
}
