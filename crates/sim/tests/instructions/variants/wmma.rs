//! Fragments: products of them, and how they come from memory and go there.

use crate::variant::{OPERANDS, RESULTS, Variant, expand};

/// Distributions of the elements.
const HOW: [&str; 4] = ["tame", "sparse", "wild", "power"];

/// Shapes whose elements have eight or sixteen bits.
const SHAPES: [&str; 3] = ["m16n16k16", "m8n32k16", "m32n8k16"];

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = halves();
    list.extend(floats());
    list.extend(integers());
    list.extend(loads());
    list.extend(stores());
    list
}

/// Rows, columns, and what is between them.
fn dimensions(shape: &str) -> [usize; 3] {
    let numbers: Vec<usize> =
        shape.split(['m', 'n', 'k']).skip(1).map(|part| part.parse().expect("a number")).collect();
    numbers.try_into().expect("three numbers")
}

fn bits(element: &str) -> usize {
    match element {
        "f64" => 64,
        "f32" | "s32" | "tf32" => 32,
        "f16" | "bf16" => 16,
        "s8" | "u8" => 8,
        "s4" | "u4" => 4,
        _ => 1,
    }
}

/// Registers of each lane.
fn registers(which: &str, shape: &str, element: &str) -> usize {
    let [m, n, k] = dimensions(shape);
    let elements = match which {
        "a" => m * k,
        "b" => k * n,
        _ => m * n,
    };
    match (which, element) {
        ("a" | "b", "f16") => 8,
        (_, "f64") => elements / 32,
        _ => elements * bits(element) / 1024,
    }
}

fn vector(names: &[&str]) -> String {
    format!("{{{}}}", names.join(", "))
}

fn product(text: &str, shape: &str, types: [&str; 4], kinds: [&str; 2]) -> Variant {
    let sums = registers("d", shape, types[0]);
    let counts = [registers("a", shape, types[1]), registers("b", shape, types[2]), registers("c", shape, types[3])];
    let (a, rest) = OPERANDS.split_at(counts[0]);
    let (b, rest) = rest.split_at(counts[1]);
    let lists = [vector(&RESULTS[..sums]), vector(a), vector(b), vector(&rest[..counts[2]])].join(", ");
    let operands = [vec![kinds[0]; counts[0] + counts[1]], vec![kinds[1]; counts[2]]].concat().join(" ");
    let width = if types[0] == "f64" { "b64" } else { "b32" };
    Variant::new(&format!("{text} {lists};"), &vec![width; sums].join(" "), &operands).cases(64)
}

/// Products of halves: sums and summands of either type.
fn halves() -> Vec<Variant> {
    let mut list = Vec::new();
    for shape in SHAPES {
        for types in expand("{f16,f32}.{f16,f32}") {
            let (d, c) = types.split_once('.').expect("two types");
            let summand = if c == "f16" { "f16x2" } else { "f32" };
            let mut add = |layout: &str, how: &str| {
                let text = format!("wmma.mma.sync.aligned.{layout}.{shape}.{types}");
                let kinds = [format!("{how}:f16x2"), format!("{how}:{summand}")];
                list.push(product(&text, shape, [d, "f16", "f16", c], [&kinds[0], &kinds[1]]));
            };
            for how in HOW {
                add("row.col", how);
            }
            for layout in ["row.row", "col.row", "col.col"] {
                add(layout, "tame");
            }
        }
    }
    list
}

fn floats() -> Vec<Variant> {
    let mut list = Vec::new();
    for layout in expand("{row,col}.{row,col}") {
        for how in HOW {
            let single = format!("{how}:f32");
            for shape in SHAPES {
                let text = format!("wmma.mma.sync.aligned.{layout}.{shape}.f32.bf16.bf16.f32");
                list.push(product(&text, shape, ["f32", "bf16", "bf16", "f32"], [&format!("{how}:bf16x2"), &single]));
            }
            let text = format!("wmma.mma.sync.aligned.{layout}.m16n16k8.f32.tf32.tf32.f32");
            list.push(product(&text, "m16n16k8", ["f32", "tf32", "tf32", "f32"], [&format!("{how}:tf32"), &single]));
        }
    }
    for text in expand("wmma.mma.sync.aligned.{row,col}.{row,col}.m8n8k4{,.rn,.rz,.rm,.rp}.f64.f64.f64.f64") {
        for how in HOW {
            let kind = format!("{how}:f64");
            list.push(product(&text, "m8n8k4", ["f64"; 4], [&kind, &kind]));
        }
    }
    list
}

fn integers() -> Vec<Variant> {
    let mut list = Vec::new();
    for saturate in ["", ".satfinite"] {
        for element in ["s8", "u8"] {
            for shape in SHAPES {
                for layout in expand("{row,col}.{row,col}") {
                    let text = format!("wmma.mma.sync.aligned.{layout}.{shape}.s32.{element}.{element}.s32{saturate}");
                    list.push(product(&text, shape, ["s32", element, element, "s32"], ["bytes", "b32"]));
                }
            }
        }
        for element in ["s4", "u4"] {
            let text = format!("wmma.mma.sync.aligned.row.col.m8n8k32.s32.{element}.{element}.s32{saturate}");
            list.push(product(&text, "m8n8k32", ["s32", element, element, "s32"], ["bytes", "b32"]));
        }
    }
    for text in expand("wmma.mma.{xor,and}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32") {
        list.push(product(&text, "m8n8k128", ["s32", "b1", "b1", "s32"], ["bytes", "b32"]));
    }
    list
}

/// Every fragment that is loaded: which, shape, type and layout.
fn fragments(factors: bool) -> Vec<[String; 4]> {
    let mut patterns = vec!["c.{m16n16k16,m8n32k16,m32n8k16}.{f16,f32,s32}.{row,col}"];
    patterns.extend(["c.m16n16k8.f32.{row,col}", "c.m8n8k4.f64.{row,col}", "c.{m8n8k32,m8n8k128}.s32.{row,col}"]);
    if factors {
        patterns.push("{a,b}.{m16n16k16,m8n32k16,m32n8k16}.{f16,bf16,s8,u8}.{row,col}");
        patterns.extend(["{a,b}.m16n16k8.tf32.{row,col}", "{a,b}.m8n8k4.f64.{row,col}"]);
        patterns.extend(["a.m8n8k32.{s4,u4}.row", "b.m8n8k32.{s4,u4}.col", "a.m8n8k128.b1.row", "b.m8n8k128.b1.col"]);
    }
    let split = |text: String| {
        let parts: Vec<String> = text.split('.').map(str::to_owned).collect();
        parts.try_into().expect("four parts")
    };
    patterns.into_iter().flat_map(expand).map(split).collect()
}

/// The strides of rows or columns, in elements: their length, and 16 bytes more.
fn apart([which, shape, element, layout]: &[String; 4]) -> [usize; 2] {
    let [m, n, k] = dimensions(shape);
    let (rows, columns) = match which.as_str() {
        "a" => (m, k),
        "b" => (k, n),
        _ => (m, n),
    };
    let length = if layout == "row" { columns } else { rows };
    [length, length + 128 / bits(element)]
}

/// Eight bytes of each lane, six times, one behind the other, from `wide` or in the memory of the block.
const WORDS: [&str; 6] = ["a", "b", "c", "e", "f", "g"];
const PUT: &str = "mov.u32 word, scratch; mad.lo.u32 word, m, 8, word; \
    st.shared.b64 [word], a; st.shared.b64 [word+256], b; st.shared.b64 [word+512], c; \
    st.shared.b64 [word+768], e; st.shared.b64 [word+1024], f; st.shared.b64 [word+1280], g; \
    mov.u32 word, scratch; bar.warp.sync 0xffffffff;";

fn loads() -> Vec<Variant> {
    let mut list = Vec::new();
    for fragment in fragments(true) {
        let [which, shape, element, layout] = &fragment;
        let [dense, wide] = apart(&fragment);
        let count = registers(which, shape, element);
        let width = if element == "f64" { "b64" } else { "b32" };
        let names = vector(&RESULTS[..count]);
        let mut add = |before: &str, space: &str, address: &str, after: &str| {
            let text = format!(
                "{before} wmma.load.{which}.sync.aligned.{layout}.{shape}{space}.{element} {names}, {address}{after};"
            );
            let (results, operands) = (vec![width; count].join(" "), vec!["b64"; WORDS.len()].join(" "));
            list.push(Variant::new(&text, &results, &operands).cases(32));
        };
        let after = format!(", {wide}");
        add("ld.param.u64 wide, [from];", ".global", "[wide]", &after);
        add(PUT, ".shared", "[word]", "");
        if *which != "c" && *layout == "row" && bits(element) > 4 {
            let generic = format!("{PUT} cvt.u64.u32 wide, word; cvta.shared.u64 wide, wide;");
            add(&format!("{generic} mov.u32 low, {dense};"), "", "[wide+16]", ", low");
            // The tallest factor is as large as what is there.
            if which != "a" || shape != "m32n8k16" || bits(element) < 16 {
                add(PUT, ".shared::cta", "[scratch+32]", &after);
            }
        }
    }
    list
}

fn stores() -> Vec<Variant> {
    let mut list = Vec::new();
    for fragment in fragments(false) {
        let [_, shape, element, layout] = &fragment;
        let [_, wide] = apart(&fragment);
        let count = registers("d", shape, element);
        let kind = if element == "f64" { "b64" } else { "b32" };
        let names = vector(&OPERANDS[..count]);
        let mut add = |before: &str, space: &str, address: &str, after: &str| {
            let at = |index: usize| format!("{address}+{}", index * 256);
            let own = "mul.wide.u32 own, m, 8; add.u64 own, own, wide; cvt.u32.u64 low, own;";
            let access = if space == ".shared" { ".shared" } else { "" };
            let clear: String =
                (0..6).map(|index| format!("st{access}.b64 [{}], 0; ", at(index))).collect::<Vec<_>>().concat();
            let load: String = (0..6)
                .map(|index| format!("ld{access}.b64 {}, [{}]; ", RESULTS[index], at(index)))
                .collect::<Vec<_>>()
                .concat();
            let base = if space == ".shared" { "word" } else { "wide" };
            let text = format!(
                "{before} {own} {clear} bar.warp.sync 0xffffffff; \
                 wmma.store.d.sync.aligned.{layout}.{shape}{space}.{element} [{base}], {names}{after}; \
                 bar.warp.sync 0xffffffff; {load}"
            );
            list.push(Variant::new(&text, &["b64"; 6].join(" "), &vec![kind; count].join(" ")).cases(32));
        };
        let after = format!(", {wide}");
        add("ld.param.u64 wide, [from]; add.u64 wide, wide, 16384;", ".global", "own", &after);
        let shared = "mov.u32 word, scratch; cvt.u64.u32 wide, word;";
        add(shared, ".shared", "low", "");
        if *shape == "m16n16k16" {
            add(&format!("{shared} cvta.shared.u64 wide, wide;"), "", "own", &after);
        }
    }
    list
}
