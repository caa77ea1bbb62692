//! Tells the crate how it is optimised, which no `cfg` says.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=INKSTONE_OPT_LEVEL={}", std::env::var("OPT_LEVEL").unwrap_or_default());
}
