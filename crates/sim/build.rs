//! Refuses platforms on which there can be no simulated machines, before a hundred other errors do.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system != "linux" {
        println!(
            "cargo::error=simulated machines need Linux, and the target is {system}: device memory is files without names \
             that are mapped twice; put the dependency under [target.'cfg(target_os = \"linux\")'.dev-dependencies], or \
             use a container or WSL"
        );
    }
}
