//! Stack sizes of functions.
//!
//! A compiler decides how much that is. The least it can be is known from the text: the variables that
//! functions declare, and, for functions that may be entered again before they are left, room for the way
//! back.

use super::Code;
use super::function::Callee;

/// Bytes that hardware takes for a call of a recursive function without variables, as measured.
const LEAST: u32 = 16;

/// Computes for every function whether its calls are known to end, the stack of a call, and the stack it needs
/// with any arguments.
pub(super) fn measure(code: &mut Code) {
    let graph = Graph::of(code);
    // Functions whose callees are all known to end: first those without calls, then those that call only
    // them.
    let mut pending: Vec<usize> = graph.callees.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..pending.len()).filter(|index| pending[*index] == 0).collect();
    let mut deepest = vec![None; pending.len()];
    while let Some(index) = ready.pop() {
        let below = graph.callees[index].iter().filter_map(|callee| deepest[callee.function()?]).max();
        deepest[index] = Some(code.functions[index].variables.saturating_add(below.unwrap_or(0)));
        for caller in &graph.callers[index] {
            pending[*caller] -= 1;
            if pending[*caller] == 0 {
                ready.push(*caller);
            }
        }
    }
    for (index, function) in code.functions.iter_mut().enumerate() {
        function.ends = deepest[index].is_some();
        let least = if function.ends { 0 } else { LEAST };
        let below = graph.callees[index].iter().filter_map(|callee| deepest[callee.function()?]).max();
        function.taken = function.variables.max(least);
        function.needed = function.variables.saturating_add(below.unwrap_or(0));
    }
}

/// The call graph; a call through an address has no known end.
struct Graph {
    callees: Vec<Vec<Callee>>,
    callers: Vec<Vec<usize>>,
}

impl Graph {
    fn of(code: &Code) -> Graph {
        let count = code.functions.len();
        let mut graph = Graph { callees: vec![Vec::new(); count], callers: vec![Vec::new(); count] };
        for (index, function) in code.functions.iter().enumerate() {
            for instruction in &code.instructions[function.start as usize..function.end as usize] {
                let Some(callee) = code.callee(instruction) else { continue };
                graph.callees[index].push(callee);
                if let Callee::Function(called) = callee {
                    graph.callers[called].push(index);
                }
            }
        }
        graph
    }
}
