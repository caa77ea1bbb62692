//! The kernels and the queues of the engine against the definitions. A machine for tests has no GPU, so `cargo xtask test wgpu`
//! runs these with drivers that compute on the CPU.

mod wgpu {
    use inkstone_compute::EngineOptions;
    use inkstone_compute::conformance::{self, Report};
    use inkstone_engine_wgpu::Wgpu;

    fn options() -> EngineOptions {
        EngineOptions::default().budget(2 << 30)
    }

    fn passed(report: &Report) {
        assert!(report.passed(), "{report}");
        println!("{report}");
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn the_queue_keeps_its_promises() {
        passed(&conformance::queue(&Wgpu::new(&options()).unwrap()));
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn kernels_compute_what_the_definitions_say() {
        passed(&conformance::run(&Wgpu::new(&options()).unwrap()));
    }

    /// With the limits and features that every device has.
    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn core_kernels_compute_what_the_definitions_say() {
        passed(&conformance::run(&Wgpu::new(&options().isa("core")).unwrap()));
    }
}
