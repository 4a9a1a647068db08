//! Instructions that may or may not be PTX: every opcode with types and modifiers that other opcodes have.

#[path = "bulk.rs"]
mod bulk;
#[path = "later.rs"]
mod later;
#[path = "matrices.rs"]
mod matrices;
#[path = "memory.rs"]
mod memory;
#[path = "pairs.rs"]
mod pairs;
#[path = "stack.rs"]
mod stack;
#[path = "video.rs"]
mod video;

use std::collections::HashSet;

const TYPES: [&str; 22] = [
    "b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2",
    "f32", "f64", "u16x2", "s16x2", "pred", "f32x2",
];

/// Declarations of the registers that the texts use.
pub(crate) const REGISTERS: &str =
    ".reg .pred %p<8>; .reg .b8 %b<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %q<10>; .reg .b128 %w<4>;";

/// The letter of the registers of a type.
fn file(scalar: &str) -> char {
    match scalar {
        "pred" => 'p',
        "b64" | "u64" | "s64" | "f64" | "f32x2" => 'q',
        _ if scalar.ends_with("x2") || scalar.ends_with("32") => 'r',
        _ => 'h',
    }
}

/// `%r1, %r2, %q3`
fn registers(types: &[&str]) -> String {
    let each = types.iter().zip(1..).map(|(scalar, number)| format!("%{}{number}", file(scalar)));
    each.collect::<Vec<_>>().join(", ")
}

/// One of each list, in every combination, put together.
fn combined(lists: &[&[&str]]) -> Vec<String> {
    lists.iter().fold(vec![String::new()], |heads, list| {
        heads.iter().flat_map(|head| list.iter().map(move |tail| format!("{head}{tail}"))).collect()
    })
}

#[derive(Default)]
struct Candidates {
    all: Vec<String>,
    seen: HashSet<String>,
}

impl Candidates {
    fn add(&mut self, name: &str, operands: &str) {
        let text = format!("{name} {operands};");
        if self.seen.insert(text.clone()) {
            self.all.push(text);
        }
    }

    /// Opcodes with modifiers and a type, and operands of that type.
    fn of_type(&mut self, opcodes: &[&str], modifiers: &[&[&str]], scalar: &str, count: usize) {
        for modifiers in combined(modifiers) {
            for opcode in opcodes {
                self.add(&format!("{opcode}{modifiers}.{scalar}"), &registers(&vec![scalar; count]));
            }
        }
    }

    fn arithmetic(&mut self, t: &str) {
        let flush: &[&str] = &["", ".ftz"];
        let parts: &[&str] = &["", ".lo", ".hi"];
        self.of_type(&["add", "sub"], &[&["", ".rn", ".rz", ".cc"], flush, &["", ".sat", ".relu"]], t, 3);
        self.of_type(&["addc", "subc"], &[&["", ".cc"], &["", ".sat"]], t, 3);
        self.of_type(&["mul"], &[parts, &["", ".rn", ".rm"], flush, &["", ".sat"]], t, 3);
        let ends: &[&str] = &["", ".sat", ".relu", ".cc"];
        self.of_type(&["mad", "fma", "madc"], &[parts, &["", ".rn", ".rm"], flush, ends], t, 4);
        self.of_type(&["mul24"], &[&[".lo", ".hi"], &["", ".sat"]], t, 3);
        self.of_type(&["mad24"], &[&[".lo", ".hi"], &["", ".sat"]], t, 4);
        self.of_type(&["div", "rem"], &[&["", ".rn", ".rz", ".approx", ".full"], flush, &["", ".sat"]], t, 3);
        self.of_type(&["sad"], &[], t, 4);
        self.of_type(&["abs", "neg"], &[flush], t, 2);
        self.of_type(&["min", "max"], &[flush, &["", ".NaN"], &["", ".xorsign.abs", ".relu"]], t, 3);
        let functions = ["rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"];
        self.of_type(&functions, &[&["", ".rn", ".rz", ".approx"], flush], t, 2);
        self.of_type(&["copysign"], &[], t, 3);
        self.add(&format!("testp.finite.{t}"), &registers(&["pred", t]));
    }

    fn bits(&mut self, t: &str) {
        self.of_type(&["and", "or", "xor"], &[], t, 3);
        self.of_type(&["not", "cnot", "brev", "mov"], &[], t, 2);
        for opcode in ["clz", "popc", "bfind", "bfind.shiftamt"] {
            self.add(&format!("{opcode}.{t}"), &registers(&["b32", t]));
        }
        for opcode in ["shl", "shr"] {
            self.add(&format!("{opcode}.{t}"), &registers(&[t, t, "u32"]));
        }
        self.add(&format!("bfe.{t}"), &registers(&[t, t, "u32", "u32"]));
        self.add(&format!("bfi.{t}"), &registers(&[t, t, t, "u32", "u32"]));
        self.add(&format!("lop3.{t}"), &format!("{}, 150", registers(&[t; 4])));
        self.of_type(&["shf"], &[&["", ".l", ".r"], &["", ".clamp", ".wrap"]], t, 4);
        self.of_type(&["prmt"], &[&["", ".f4e", ".rc16", ".rc32"]], t, 4);
        self.of_type(&["bmsk", "szext"], &[&["", ".clamp", ".wrap"]], t, 3);
        self.of_type(&["fns"], &[], t, 4);
        for other in ["u32", "s32", "b32"] {
            self.add(&format!("dp4a.{t}.{other}"), &registers(&["b32"; 4]));
            for half in ["", ".lo", ".hi"] {
                self.add(&format!("dp2a{half}.{t}.{other}"), &registers(&["b32"; 4]));
            }
        }
    }

    fn choices(&mut self, t: &str) {
        self.add(&format!("selp.{t}"), &registers(&[t, t, t, "pred"]));
        for by in ["s32", "f32", "u32", "f16", "f64"] {
            for flush in ["", ".ftz"] {
                self.add(&format!("slct{flush}.{t}.{by}"), &registers(&[t, t, t, by]));
            }
        }
        for how in combined(&[&[".eq", ".lt", ".lo", ".equ", ".num"], &["", ".ftz"]]) {
            let (one, two) = (registers(&["pred", t, t]), format!("%p1|%p2, {}", registers(&[t, t])));
            self.add(&format!("setp{how}.{t}"), &one);
            self.add(&format!("setp{how}.{t}"), &two);
            for to in TYPES {
                self.add(&format!("set{how}.{to}.{t}"), &registers(&[to, t, t]));
            }
        }
        for modifiers in combined(&[
            &["", ".rn", ".rz", ".rni", ".rzi", ".rna"],
            &["", ".ftz"],
            &["", ".sat", ".relu", ".satfinite"],
        ]) {
            for to in TYPES {
                self.add(&format!("cvt{modifiers}.{to}.{t}"), &registers(&[to, t]));
            }
        }
    }

    /// Conversions with a byte in a register of 8 bits, which some of them ask for.
    fn bytes(&mut self, t: &str) {
        let file = file(t);
        for modifiers in combined(&[
            &["", ".rn", ".rz", ".rm", ".rp", ".rna", ".rni", ".rzi", ".rmi", ".rpi"],
            &["", ".ftz"],
            &["", ".sat", ".relu", ".satfinite"],
        ]) {
            for byte in ["u8", "s8", "b8"] {
                self.add(&format!("cvt{modifiers}.{byte}.{t}"), &format!("%b1, %{file}2"));
                self.add(&format!("cvt{modifiers}.{t}.{byte}"), &format!("%{file}1, %b2"));
            }
        }
    }

    fn memory(&mut self, t: &str) {
        let file = file(t);
        let changes = [".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor", ".exch"];
        for name in combined(&[&[".global", ".shared", ""], &changes, &["", ".noftz"]]) {
            self.add(&format!("atom{name}.{t}"), &format!("%{file}1, [%q9], %{file}2"));
            self.add(&format!("red{name}.{t}"), &format!("[%q9], %{file}2"));
        }
        for opcode in ["atom.global.cas", "red.global.cas"] {
            self.add(&format!("{opcode}.{t}"), &format!("%{file}1, [%q9], %{file}2, %{file}3"));
        }
        for name in combined(&[&["", ".volatile", ".relaxed.gpu", ".acquire.sys", ".nc"], &["", ".global", ".shared"]])
        {
            self.add(&format!("ld{name}.{t}"), &format!("%{file}1, [%q9]"));
            self.add(&format!("ld{name}.v2.{t}"), &format!("{{%{file}1, %{file}2}}, [%q9]"));
        }
        for name in combined(&[&["", ".volatile", ".relaxed.gpu", ".release.sys"], &["", ".global", ".const"]]) {
            self.add(&format!("st{name}.{t}"), &format!("[%q9], %{file}1"));
        }
    }

    fn warps(&mut self, t: &str) {
        for kind in ["add", "min", "max", "and", "or", "xor"] {
            self.add(&format!("redux.sync.{kind}.{t}"), &registers(&[t, t, "b32"]));
        }
        for kind in ["any", "all"] {
            self.add(&format!("match.{kind}.sync.{t}"), &registers(&["b32", t, "b32"]));
        }
        for kind in ["up", "down", "bfly", "idx"] {
            self.add(&format!("shfl.sync.{kind}.{t}"), &registers(&[t, t, "b32", "b32", "b32"]));
        }
        for kind in ["all", "any", "uni", "ballot"] {
            self.add(&format!("vote.sync.{kind}.{t}"), &registers(&[t, "pred", "b32"]));
        }
        self.add(&format!("activemask.{t}"), &registers(&[t]));
    }

    fn fences(&mut self) {
        let scopes: &[&str] = &["", ".cta", ".cluster", ".gpu", ".sys", ".gl"];
        for name in combined(&[&["fence", "membar"], &["", ".sc", ".acq_rel", ".acquire", ".relaxed"], scopes]) {
            self.add(&name, "");
        }
    }

    fn packed(&mut self) {
        for modifiers in combined(&[
            &["", ".rn", ".rz", ".rm", ".rs"],
            &["", ".relu"],
            &["", ".satfinite", ".sat"],
            &[".f16x2.f32", ".bf16x2.f32"],
        ]) {
            self.add(&format!("cvt{modifiers}"), "%r1, %r2, %r3");
        }
        for modifiers in combined(&[&["", ".rn", ".rz", ".rna"], &["", ".relu"], &["", ".satfinite"]]) {
            self.add(&format!("cvt{modifiers}.tf32.f32"), "%r1, %r2");
        }
    }
}

/// All of them, each once.
pub(crate) fn all() -> Vec<String> {
    let mut candidates = Candidates::default();
    for scalar in TYPES {
        candidates.arithmetic(scalar);
        candidates.bits(scalar);
        candidates.choices(scalar);
        candidates.bytes(scalar);
        candidates.memory(scalar);
        candidates.warps(scalar);
    }
    candidates.fences();
    candidates.packed();
    matrices::add_all(|name, operands| candidates.add(name, operands));
    memory::add_all(|name, operands| candidates.add(name, operands));
    bulk::add_all(|name, operands| candidates.add(name, operands));
    later::add_all(|name, operands| candidates.add(name, operands));
    video::add_all(|name, operands| candidates.add(name, operands));
    stack::add_all(|name, operands| candidates.add(name, operands));
    pairs::add_all(|name, operands| candidates.add(name, operands));
    candidates.all
}
