//! Gives the library the name by which programs look for the driver.
#![expect(clippy::print_stdout, reason = "a build script speaks to cargo this way")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    }
}
