//! Makes a function of each cudarc program in `docs/from-cudarc.md`, for `guide.rs`.

use std::error::Error;
use std::path::Path;

const GUIDE: &str = "../../docs/from-cudarc.md";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={GUIDE}");
    let (guide, mut functions, mut names) = (std::fs::read_to_string(GUIDE)?, String::new(), String::new());
    for (number, block) in (1..).zip(guide.split("```rs\n").skip(1)) {
        let (program, _) = block.split_once("\n```").ok_or("a program without an end")?;
        functions += &format!("fn program_{number}() -> Outcome {{\n{program}\nOk(())\n}}\n");
        names += &format!("(\"program {number} of the guide runs\", program_{number} as fn() -> Outcome),\n");
    }
    let text = format!("{functions}pub const CHECKS: &[Check] = &[\n{names}];\n");
    Ok(std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("guide.rs"), text)?)
}
