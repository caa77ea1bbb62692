//! Models on the engine for GPUs, beyond the claims that hold on every engine. `cargo xtask test wgpu` runs these with drivers
//! that compute on the CPU.

mod wgpu {
    use inkstone::compute::EngineOptions;
    use inkstone::compute::conformance::{Counts, Delayed};
    use inkstone::kvcache::Format;
    use inkstone::tensor::ErrorKind;
    use inkstone::{Error, FinishReason, Model, ModelOptions, Options, engines};
    use inkstone_engine_wgpu::Wgpu;
    use inkstone_engine_wgpu::faults::Faults;
    use inkstone_tests::{Subject, arg_max, assert_same_bits, assets};
    use std::sync::{Arc, Mutex, PoisonError};

    /// The engines that were opened by the names of [`watched`], the last one last.
    static OPENED: Mutex<Vec<Arc<Wgpu>>> = Mutex::new(Vec::new());

    /// Registers the engine with these faults; it is in [`OPENED`] when it was opened. Returns its name.
    fn watched(name: &'static str, faults: fn() -> Faults) -> &'static str {
        let factory = move |options: &EngineOptions| {
            let engine = Arc::new(Wgpu::with_faults(options, faults())?);
            OPENED.lock().unwrap_or_else(PoisonError::into_inner).push(engine.clone());
            Ok(engine as _)
        };
        engines::register(name, Arc::new(factory));
        name
    }

    fn last_opened() -> Arc<Wgpu> {
        OPENED.lock().unwrap_or_else(PoisonError::into_inner).last().expect("an engine").clone()
    }

    fn greedy(tokens: u64) -> Options {
        Options::default().temperature(0.0).max_tokens(tokens).ignore_end(true)
    }

    fn open(engine: &str) -> Result<Model, Error> {
        Model::open_with(assets("story-draft-q8_0.gguf"), &ModelOptions::default().engine(engine).ctx(256))
    }

    /// With pieces of 64 KiB.
    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn matrices_in_pieces_give_the_same_bits() {
        let factory = |options: &EngineOptions| Ok(Arc::new(Wgpu::new(options)?.pieces_of(64 << 10)) as _);
        engines::register("wgpu in pieces", Arc::new(factory));
        for subject in [Subject::arch("llama"), Subject::story_q8_0(), Subject::story_q4_k_m()] {
            let ids = &subject.ids[..20];
            let logits =
                |engine: &str| subject.open(engine, "f32", &ModelOptions::default()).logits(ids, Some(7)).unwrap();
            assert_same_bits(&logits("wgpu in pieces"), &logits("wgpu"), subject.name);
        }
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn variants_give_the_same_bits() {
        let subjects = ["llama", "llama-tied", "llama-yarn", "mistral", "qwen2", "qwen3", "gpt2"].map(Subject::arch);
        for subject in subjects.into_iter().chain([Subject::story_q8_0(), Subject::story_q4_k_m()]) {
            let [subgroup, core] = inkstone_engine_wgpu::VARIANTS.map(|isa| {
                let options = ModelOptions::default().isa(isa);
                subject.open("wgpu", "f32", &options).logits(&subject.ids[..70], Some(64)).unwrap()
            });
            assert_same_bits(&subgroup, &core, subject.name);
        }
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn times_of_kernels_are_recorded() {
        let options = ModelOptions::default().engine("wgpu").ctx(256).profile(true);
        let model = Model::open_with(assets("story-draft-q8_0.gguf"), &options).unwrap();
        let begun = std::time::Instant::now();
        model.generate("Once upon a time", &greedy(20)).unwrap();
        let (wall, plans) = (begun.elapsed(), model.profile().expect("a clock"));
        let times = plans.iter().flat_map(|plan| plan.kernels.iter().map(|kernel| kernel.time));
        let (count, sum) = times.fold((0, std::time::Duration::ZERO), |(count, sum), time| (count + 1, sum + time));
        assert!(count > 5 && sum > wall / 100 && sum < wall, "{count} kernels took {sum:?} of {wall:?}");
    }

    /// Where the top two of the CPU's logits are apart, both engines have the same first token.
    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn both_engines_find_the_same_tokens() {
        for format in ["f32", "f16"] {
            let [cpu, wgpu] = ["cpu", "wgpu"].map(|engine| {
                let options = ModelOptions::default().engine(engine).kv_type(Format::named(format).unwrap());
                Model::open_with(assets("story-5m-q8_0.gguf"), &options).unwrap()
            });
            let mut compared = 0;
            for seed in 1..=3 {
                let options = Options::default().seed(seed).max_tokens(400).ignore_end(true);
                let ids = cpu.generate("Once upon a time", &options).unwrap().ids;
                let (found, wanted) = (wgpu.logits(&ids, None).unwrap(), cpu.logits(&ids, None).unwrap());
                let vocab = cpu.graph().config.vocab;
                for (row, (found, wanted)) in found.chunks(vocab).zip(wanted.chunks(vocab)).enumerate() {
                    let first = arg_max(wanted);
                    let second = wanted.iter().enumerate().filter(|(i, _)| *i != first).map(|(_, x)| *x);
                    if wanted[first] - second.fold(f32::NEG_INFINITY, f32::max) > 0.3 {
                        assert_eq!(arg_max(found), first, "{format}, seed {seed}, row {row}");
                        compared += 1;
                    }
                }
            }
            println!("{format}: {compared} tokens are the same");
            assert!(compared > 500, "{compared}");
        }
    }

    /// The time of the host for a token of a model with the shapes of Llama 3.2 1B, on a device that does nothing. The file is
    /// named by `INKSTONE_1B`.
    #[test]
    #[ignore = "a measurement: INKSTONE_1B=FILE cargo xtask test wgpu"]
    fn time_of_the_host_per_token() {
        let Ok(file) = std::env::var("INKSTONE_1B") else { return };
        let factory = |options: &EngineOptions| Ok(Arc::new(Wgpu::without_device(options)?) as _);
        engines::register("wgpu without device", Arc::new(factory));
        let options = ModelOptions::default().engine("wgpu without device").ctx(1024).budget(64 << 30);
        let model = Model::open_with(file, &options).unwrap();
        let mut stream = model.stream("Once upon a time", &greedy(700)).unwrap();
        let mut take = |tokens: usize| {
            while stream.ids().len() < tokens {
                stream.next().expect("more text").unwrap();
            }
        };
        take(100);
        let begun = std::time::Instant::now();
        take(600);
        println!("{:.3} ms of the host per token", begun.elapsed().as_secs_f64() * 2.0);
    }

    /// No memory, no shader and no submit more than a token needs.
    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn a_long_text_needs_no_more_than_a_short_one() {
        static ENGINE: Mutex<Option<(Arc<Wgpu>, Arc<Delayed>)>> = Mutex::new(None);
        let factory = |options: &EngineOptions| {
            let engine = Arc::new(Wgpu::new(options)?);
            let counted = Arc::new(Delayed::new(engine.clone(), 3, 5));
            *ENGINE.lock().unwrap() = Some((engine, counted.clone()));
            Ok(counted as _)
        };
        engines::register("wgpu counted", Arc::new(factory));
        let model = Model::open_with(
            assets("story-draft-q8_0.gguf"),
            &ModelOptions::default().engine("wgpu counted").ctx(1300),
        );
        let model = model.unwrap();
        let (engine, counted) = ENGINE.lock().unwrap().take().unwrap();
        let sampled = Options::default().seed(3).temperature(0.8).top_p(0.9).unlimited().ignore_end(true);
        for options in [greedy(1200), sampled] {
            let mut stream = model.stream("Once upon a time", &options).unwrap();
            let state = |counts: Counts| (engine.compiled(), engine.allocations(), counts);
            let mut take = |tokens: usize| {
                while stream.ids().len() < tokens {
                    stream.next().expect("more text").unwrap();
                }
            };
            take(100);
            let (shaders, allocations, before) = state(counted.counts());
            take(1100);
            let (more_shaders, more_allocations, after) = state(counted.counts());
            assert_eq!((more_shaders, more_allocations), (shaders, allocations));
            let steps = after.submits - before.submits;
            assert!((997..=1003).contains(&steps), "{steps} submits for 1000 tokens");
            assert_eq!((after.back - before.back) / steps, 256);
            let pages = 1000usize.div_ceil(model.config().page) + 1;
            assert!((after.writes - before.writes) as usize <= pages, "{} writes", after.writes - before.writes);
        }
    }

    /// H2: every allocation of a model may fail. The error says so, and the engine of another model works.
    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn each_allocation_of_a_model_may_fail() {
        static WHICH: Mutex<u64> = Mutex::new(0);
        let name =
            watched("wgpu short of memory", || Faults { allocation: *WHICH.lock().unwrap(), ..Faults::default() });
        let run = |which: u64| {
            *WHICH.lock().unwrap() = which;
            open(name)?.generate("Once", &greedy(3))
        };
        let text = run(0).unwrap().text;
        let count = last_opened().allocations();
        // Each opens a device and checks it; the first and the last ones, and some between.
        let some = (1..=count).filter(|which| *which <= 4 || *which + 40 > count || which % 29 == 0);
        for which in some {
            let error = run(which).expect_err("an allocation fails");
            let kind = error.kind();
            assert!(matches!(kind, ErrorKind::OutOfMemory | ErrorKind::Unsupported), "{which} of {count}: {error}");
        }
        assert_eq!(run(0).unwrap().text, text);
    }

    /// H3: a device that goes away in a prompt or in a text ends the sequences with that error. The model is closed, other models
    /// and a new one work.
    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn a_lost_device_ends_sequences_and_closes_the_model() {
        let name = watched("wgpu lost", Faults::default);
        let cpu = open("cpu").unwrap();
        let wanted = open(name).unwrap().generate("Once upon", &greedy(8)).unwrap().text;
        for tokens in [0, 1, 5] {
            let model = open(name).unwrap();
            let mut stream = model.stream("Once upon", &greedy(100)).unwrap();
            for _ in 0..tokens {
                stream.next().expect("more text").unwrap();
            }
            last_opened().destroy();
            let error = stream.find_map(Result::err).expect("an error");
            assert!(error.to_string().contains("device of engine wgpu"), "{error}");
            let again = model.generate("Once", &greedy(3)).expect_err("the device is gone");
            assert_eq!(again.kind(), ErrorKind::Engine, "{again}");
            assert_eq!(cpu.generate("Once", &greedy(3)).unwrap().finish, FinishReason::Length);
        }
        assert_eq!(open(name).unwrap().generate("Once upon", &greedy(8)).unwrap().text, wanted);
    }
}
