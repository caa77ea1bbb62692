//! The engine on a device. A machine for tests has none, so `cargo xtask test wgpu` runs these with drivers that compute on the
//! CPU.

mod rows;
mod sampling;

mod wgpu {
    use crate::sampling;
    use inkstone_compute::conformance::{self, Report};
    use inkstone_compute::{Engine, EngineOptions, Error, Usage};
    use inkstone_engine_wgpu::Wgpu;
    use inkstone_engine_wgpu::faults::{Faults, Mistake};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn options() -> EngineOptions {
        EngineOptions::default().budget(2 << 30)
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn draws_of_random_rows_are_those_of_the_definition_or_of_the_host() {
        sampling::random_rows(&Wgpu::new(&options()).unwrap(), 10_000);
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn draws_that_rounding_leaves_open_are_left_to_the_host() {
        sampling::rows_at_the_edge(&Wgpu::new(&options()).unwrap(), 20);
    }

    /// A fault, and how it is planted.
    type Planted = (&'static str, fn(&mut Faults));

    fn replace(faults: &mut Faults, from: &str, to: &str) {
        faults.shaders.push((from.to_owned(), to.to_owned()));
    }

    fn take_size_for_granted(faults: &mut Faults) {
        replace(faults, "let lanes = subgroupAdd(1u);", "let lanes = 32u;");
    }

    /// Mistakes in kernels and in the host.
    const PLANTED: &[Planted] = &[
        ("a window is one position wider", |f| {
            replace(f, "let begin = n - min(n, size);", "let begin = n - min(n, size + u32(size < n));");
        }),
        ("a window is one position narrower", |f| {
            replace(f, "let begin = n - min(n, size);", "let begin = n - min(n, max(size, 2u) - 1u);");
        }),
        ("hidden positions of a block are seen", |f| {
            replace(f, "position < n && (position >= seen.begin || position < seen.first)", "position < n");
        }),
        ("a barrier is missing", |f| {
            replace(f, "  workgroupBarrier();\n  let row = t / 32u;", "  let row = t / 32u;");
            replace(f, "  for (var i = 0u; i < 8u; i++) { sum +=", "  for (var i = 7u; i < 8u; i++) { sum +=");
        }),
        ("segments are cut by rows", |f| replace(f, "segment * groups / 8u", "segment * (groups + p.rows) / 8u")),
        ("a page border is misread", |f| {
            replace(f, "position % page;", "min(position % page + 1u, page - 1u);");
        }),
        ("the end of a row of floats is not cut off", |f| {
            replace(f, "min((segment + 1u) * blocks / 8u * 8u, (p.k + 3u) / 4u)", "(segment + 1u) * blocks / 8u * 8u");
        }),
        ("a size of subgroups is taken for granted", take_size_for_granted),
        ("a bound of zero in sampling", |f| replace(f, "override BOUND: f32 = 1.0;", "override BOUND: f32 = 0.0;")),
        ("parameters of the dispatch before", |f| f.host = Some(Mistake::Parameters)),
        ("operands begin a word late", |f| f.host = Some(Mistake::Offset)),
        ("ranges are brought back a submit late", |f| f.host = Some(Mistake::EarlyCopy)),
        ("a staging buffer is used before its fetch", |f| f.host = Some(Mistake::Staging)),
        ("a result that is halved", |f| {
            replace(f, "bitcast<u32>(totals[i] / total_l)", "bitcast<u32>(0.5 * totals[i] / total_l)");
        }),
    ];

    /// Which check finds each fault. `cargo xtask faults wgpu` prints the list.
    #[test]
    #[ignore = "slow: cargo xtask faults wgpu"]
    fn planted_faults_are_found() {
        let mut missed: Vec<&str> = Vec::new();
        for (name, plant) in PLANTED {
            let mut faults = Faults::default();
            plant(&mut faults);
            // Without a name, an engine whose subgroups are broken takes the kernels that need none.
            let found = match Wgpu::with_faults(&options().isa("subgroup"), faults) {
                Err(error) => Some(error.to_string()),
                Ok(engine) => {
                    let first = |report: Report| report.failed().next().map(|failed| failed.case.clone());
                    let edge = || catch_unwind(AssertUnwindSafe(|| sampling::rows_at_the_edge(&engine, 20)));
                    first(conformance::queue(&engine))
                        .or_else(|| first(conformance::run(&engine)))
                        .or_else(|| edge().err().map(|_| "draws that rounding leaves open".to_owned()))
                }
            };
            println!("{name}: found by {}", found.as_deref().unwrap_or("NOTHING"));
            missed.extend(found.is_none().then_some(*name));
        }
        assert!(missed.is_empty(), "not found: {missed:?}");
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn a_device_whose_subgroups_are_broken_gets_the_core_kernels() {
        let mut faults = Faults::default();
        assert_eq!(Wgpu::new(&options()).unwrap().caps().features, ["subgroup", "core"]);
        take_size_for_granted(&mut faults);
        assert_eq!(Wgpu::with_faults(&options(), faults.clone()).unwrap().caps().features, ["core"]);
        let error = Wgpu::with_faults(&options().isa("subgroup"), faults).unwrap_err();
        assert!(error.to_string().contains("self-check"), "{error}");
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn each_allocation_may_fail() {
        let all = |allocation| {
            let engine = Wgpu::with_faults(&options(), Faults { allocation, ..Faults::default() })?;
            let buffers = [(100, Usage::Arena), (5000, Usage::Port), (4, Usage::Port)];
            let buffers = [
                engine.alloc_all(&buffers)?,
                vec![engine.alloc(64, Usage::Step)?, engine.alloc(1 << 20, Usage::State)?],
            ];
            drop(buffers);
            Ok::<_, Error>(engine.allocations())
        };
        let count = all(u64::MAX).unwrap();
        assert!(count > 9, "{count}");
        for allocation in 1..=count {
            let error = all(allocation).unwrap_err();
            assert!(
                matches!(
                    error.kind(),
                    inkstone_tensor::ErrorKind::OutOfMemory | inkstone_tensor::ErrorKind::Unsupported
                ),
                "{allocation}: {error}"
            );
        }
        all(count + 1).unwrap();
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn a_device_that_went_away_is_an_error_and_can_be_opened_again() {
        let engine = Wgpu::new(&options()).unwrap();
        let buffer = engine.alloc(64, Usage::State).unwrap();
        let mut queue = engine.queue().unwrap();
        queue.write(&buffer, 0, &[1; 64]).unwrap();
        engine.destroy();
        let mut bytes = [0; 64];
        for error in [
            queue.read(&buffer, 0, &mut bytes).unwrap_err(),
            queue.write(&buffer, 0, &[2; 64]).unwrap_err(),
            engine.alloc(64, Usage::State).map(drop).unwrap_err(),
        ] {
            assert!(matches!(error, Error::DeviceLost { .. }), "{error}");
        }
        let again = Wgpu::new(&options()).unwrap();
        let buffer = again.alloc(64, Usage::State).unwrap();
        let mut queue = again.queue().unwrap();
        queue.write(&buffer, 0, &[3; 64]).unwrap();
        queue.read(&buffer, 0, &mut bytes).unwrap();
        assert_eq!(bytes, [3; 64]);
    }
}
