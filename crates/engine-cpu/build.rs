//! Passes the optimisation level to the crate, for which there is no `cfg`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=INKSTONE_OPT_LEVEL={}", std::env::var("OPT_LEVEL").unwrap_or_default());
}
