//! Strips the library in release builds: the command carries it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable, value: &str| std::env::var(variable).is_ok_and(|set| set == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("PROFILE", "release") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-all");
    }
}
