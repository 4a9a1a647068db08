//! Live sets have none of the standard library's traits that cannot fail (C.5).

use warploom::graph::Node;
use warploom::{DevicePool, ManagedBuffer};

fn compare(one: &DevicePool, other: &DevicePool) -> bool {
    one.peers() == other.peers()
}

fn iterate(pool: &DevicePool) {
    for _device in pool.peers() {}
}

fn extend(pool: &DevicePool) {
    std::iter::Extend::extend(&mut pool.peers(), [1]);
}

fn compare_advice(one: &ManagedBuffer, other: &ManagedBuffer) -> bool {
    one.accessed_by() == other.accessed_by()
}

fn iterate_advice(buffer: &ManagedBuffer) {
    for _location in buffer.accessed_by() {}
}

fn compare_edges(node: &Node) -> bool {
    node.predecessors() == node.successors()
}

fn iterate_edges(node: &Node) {
    for _node in node.successors() {}
}

fn main() {}
