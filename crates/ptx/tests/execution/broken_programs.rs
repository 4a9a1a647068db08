//! Robustness: valid texts with words exchanged decode and run without a panic, and end.

use std::fs;
use std::path::Path;

use warploom_ptx::{Grid, Launch, Program, VecMemory};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// Words of a text exchanged with each other, numbers changed, lines left out or repeated.
fn broken(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(4) {
        let (from, to) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(4) {
            0 => lines.swap(from, to),
            1 => lines[to] = lines[from].clone(),
            2 => {
                let other: Vec<&str> = lines[from].split_whitespace().collect();
                let word = other.get(random.below(other.len())).map_or(String::new(), |word| (*word).to_owned());
                let mut words: Vec<String> = lines[to].split_whitespace().map(str::to_owned).collect();
                let place = random.below(words.len());
                if let Some(old) = words.get_mut(place) {
                    *old = word;
                }
                lines[to] = words.join(" ");
            }
            _ => {
                let number = [0, 1, -1, 7, 31, 1 << 20, i64::MAX, 1 << 48][random.below(8)].to_string();
                let words = lines[to].split(|c: char| c.is_ascii_digit());
                lines[to] = words.collect::<Vec<_>>().join(&number);
            }
        }
    }
    lines.join("\n")
}

#[test]
fn broken_programs_are_refused_or_run_without_a_panic() {
    let mut texts = Vec::new();
    for folder in ["compute_75", "compute_80"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx").join(folder);
        for file in fs::read_dir(folder).unwrap() {
            texts.push(fs::read_to_string(file.unwrap().path()).unwrap());
        }
    }
    texts.retain(|text| text.len() < 30_000);
    texts.sort();
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(400);
    let (mut random, mut decoded) = (Random(1), 0);
    let memory = VecMemory::new(1 << 20);
    for _ in 0..rounds {
        let text = broken(&texts[random.below(texts.len())], &mut random);
        let Ok(program) = Program::from_text(&text) else { continue };
        decoded += 1;
        for kernel in program.kernels() {
            let mut arguments: Vec<u8> = VecMemory::BASE.to_le_bytes().repeat(kernel.parameter_bytes() / 8 + 1);
            arguments.truncate(kernel.parameter_bytes());
            let block = kernel.required_threads().unwrap_or([40, 1, 1]);
            let launch = Launch { block, arguments: &arguments, dynamic_shared: 256, ..Launch::default() };
            if let Ok(mut grid) = Grid::new(kernel, launch, &memory) {
                grid.step(1000);
            }
        }
    }
    assert!(decoded > rounds / 20, "{decoded} of {rounds}");
}
