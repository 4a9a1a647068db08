//! Imported pools do not allocate, imports are unsafe and take a stream, and events are recorded once (IPC-2,
//! IPC-10, EVT-2).

use warploom::ipc::{BufferDescriptor, EventDescriptor, ImportedPool, IpcEvent};
use warploom::{Buffer, Context, OrderedResource, Result, Stream};

fn allocation(pool: &ImportedPool, stream: &Stream) -> Result<Buffer<u8>> {
    pool.allocate(4, stream)
}

fn resource(pool: &ImportedPool, stream: &Stream) -> Result<Buffer<u8>> {
    OrderedResource::zeroed(pool, 4, stream)
}

fn safe_import(pool: &ImportedPool, of: &BufferDescriptor, stream: &Stream) -> Result<Buffer<u8>> {
    Buffer::import(pool, of, stream)
}

unsafe fn import_without_stream(pool: &ImportedPool, of: &BufferDescriptor) -> Result<Buffer<u8>> {
    unsafe { Buffer::import(pool, of) }
}

fn safe_import_of_an_event(context: &Context, of: &EventDescriptor) -> Result<IpcEvent> {
    IpcEvent::import(context, of)
}

fn second_record(stream: &Stream, event: &mut IpcEvent) -> Result<()> {
    stream.record_into(event)
}

fn main() {}
