//! Gives the library the name by which programs look for the driver, and keeps it loaded: its threads run its
//! code.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // The command carries the library: 10 MB with its code alone, several times that with symbols.
        if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
            println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-all");
        }
    }
}
