//! Live sets have none of the standard library's traits that cannot fail (C.5).

use warploom::DevicePool;

fn compare(one: &DevicePool, other: &DevicePool) -> bool {
    one.peers() == other.peers()
}

fn iterate(pool: &DevicePool) {
    for _device in pool.peers() {}
}

fn main() {}
