//! The engine on a device. A machine for tests has none, so `cargo xtask test wgpu` runs these with drivers that compute on the
//! CPU.

mod wgpu {
    use inkstone_compute::{EngineOptions, conformance};
    use inkstone_engine_wgpu::Wgpu;

    fn engine() -> Wgpu {
        let options = EngineOptions::default().budget(2 << 30);
        let options = match std::env::var("INKSTONE_ISA") {
            Ok(isa) => options.isa(isa),
            Err(_) => options,
        };
        Wgpu::new(&options).unwrap()
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn the_queue_keeps_its_promises() {
        let report = conformance::queue(&engine());
        assert!(report.passed(), "{report}");
    }

    #[test]
    #[ignore = "needs a driver: cargo xtask test wgpu"]
    fn kernels_compute_what_the_definitions_say() {
        let report = conformance::run(&engine());
        assert!(report.passed(), "{report}");
        println!("{report}");
    }
}
