//! The table of opcodes with their decoders.

use super::{
    Decoded, Decoder, Modifiers, arithmetic, atomic, bits, cluster, compare, convert, extreme, float, flow, fragment,
    matrix, memory, memory_barrier, stack_memory, synchronize, tensor_map, video,
};
use crate::syntax::Instruction;

/// Decodes one instruction: `ld.global.f32 %f1, [%rd4+16]`.
pub(super) type Decode =
    for<'m, 't, 'i> fn(&mut Decoder<'m, 't>, &'i Instruction<'t>, &mut Modifiers<'i, 't>) -> Decoded;

macro_rules! table {
    ($($($opcode:literal)|+ => $decode:path,)*) => {
        /// The decoder of an opcode; `None` where it is not simulated.
        pub(super) fn decoder_of(opcode: &str) -> Option<Decode> {
            Some(match opcode {
                $($($opcode)|+ => $decode as Decode,)*
                _ => return None,
            })
        }
    };
}

table! {
    "mov" => convert::mov,
    "cvt" => convert::cvt,
    "cvta" => memory::cvta,
    "ld" | "ldu" => memory::load,
    "st" => memory::store,
    "atom" | "red" => atomic::decode,
    "prefetch" | "prefetchu" | "applypriority" | "discard" => memory::hint,
    "createpolicy" => memory::policy,
    "getctarank" => cluster::rank,
    "isspacep" => memory::is_space,
    "mapa" => cluster::map,
    "cp" => memory::copy,
    "tensormap" => tensor_map::replace,
    "add" | "sub" => arithmetic::add,
    "addc" | "subc" => arithmetic::add_carry,
    "mul" => arithmetic::multiply,
    "mad" | "fma" => arithmetic::multiply_add,
    "madc" => arithmetic::multiply_add_carry,
    "mul24" | "mad24" => arithmetic::short,
    "div" | "rem" => arithmetic::divide,
    "sad" => arithmetic::distance,
    "abs" | "neg" => arithmetic::sign,
    "min" | "max" => extreme::decode,
    "dp4a" | "dp2a" => arithmetic::dot,
    "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => float::function,
    "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vset" | "vshl" | "vshr" => video::scalar,
    "vmad" => video::product,
    "vadd2" | "vsub2" | "vabsdiff2" | "vmin2" | "vmax2" | "vavrg2" | "vset2" => video::lanes,
    "vadd4" | "vsub4" | "vabsdiff4" | "vmin4" | "vmax4" | "vavrg4" | "vset4" => video::lanes,
    "copysign" => float::copy_sign,
    "testp" => float::test,
    "and" | "or" | "xor" => bits::logic,
    "not" | "cnot" => bits::not,
    "lop3" => bits::table,
    "shl" | "shr" => bits::shift,
    "shf" => bits::funnel,
    "prmt" => bits::permute,
    "bfe" => bits::field,
    "bfi" => bits::insert,
    "bfind" => bits::find,
    "brev" | "clz" | "popc" => bits::count,
    "bmsk" => bits::ones,
    "szext" => bits::extend,
    "fns" => bits::nth,
    "setp" => compare::set_predicate,
    "set" => compare::set,
    "selp" => compare::select,
    "slct" => compare::select_by_sign,
    "bra" => flow::branch,
    "alloca" => stack_memory::allocate,
    "stacksave" => stack_memory::save,
    "stackrestore" => stack_memory::restore,
    "brx" => flow::branch_indexed,
    "call" => flow::call,
    "ret" => flow::leave,
    "exit" => flow::exit,
    "trap" | "brkpt" => flow::trap,
    "nanosleep" => flow::sleep,
    "pmevent" | "griddepcontrol" | "setmaxnreg" => flow::nothing,
    "bar" | "barrier" => synchronize::barrier,
    "mbarrier" => memory_barrier::decode,
    "membar" | "fence" => synchronize::fence,
    "shfl" => synchronize::shuffle,
    "vote" => synchronize::vote,
    "activemask" => synchronize::active_mask,
    "match" => synchronize::matching,
    "redux" => synchronize::reduce,
    "elect" => synchronize::elect,
    "mma" => matrix::multiply,
    "ldmatrix" | "stmatrix" => matrix::transfer,
    "movmatrix" => matrix::transpose,
    "wmma" => fragment::fragment,
}
