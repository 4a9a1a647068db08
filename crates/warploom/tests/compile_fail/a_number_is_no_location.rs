//! A location is a device or a host; a number could be either (S1.4).

use warploom::{Location, ManagedBuffer, Result, Stream};

fn location() -> Location {
    Location::from(0)
}

fn preferred(buffer: &ManagedBuffer) -> Result<()> {
    buffer.set_preferred_location(0)
}

fn prefetched(buffer: &ManagedBuffer, stream: &Stream) -> Result<()> {
    buffer.prefetch(-1, stream)
}

fn mapped(buffer: &ManagedBuffer) -> Result<bool> {
    warploom::LiveSet::insert(&buffer.accessed_by(), 0)
}

fn main() {}
