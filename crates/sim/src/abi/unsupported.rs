//! Bodies of functions that are not simulated: they answer `NOT_SUPPORTED` and say so in the log.
//!
//! Functions with 32-bit device addresses or sizes answer `INVALID_CONTEXT`, as with the real driver, unless
//! the current context was created by the `cuCtxCreate` of that time.
#![expect(dead_code, reason = "`implemented` shadows most of these")]
#![expect(clippy::too_many_arguments, reason = "as many as the C functions have")]

use warploom_sys::for_each_function;

use crate::ffi::Cross;
use crate::ffi::status::{INVALID_CONTEXT, Status};
use crate::machine::call::Call;
use crate::rules::width;

macro_rules! bodies {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        $(
            pub(crate) fn $slot(call: &Call<'_>, $($argument: <$type as Cross>::View),*) -> Status {
                $(let _ = $argument;)*
                unsupported(call)
            }
        )*
    };
}
for_each_function!(bodies);

fn unsupported(call: &Call<'_>) -> Status {
    if width::is_narrow(call.function()) {
        let world = call.world();
        let context = call.context(&world)?;
        if world.contexts().get(context).is_some_and(|context| !width::is_narrow_version(context.api_version)) {
            let reason = "the function takes addresses of 32 bits, and those of the current context have 64";
            return Err(call.refuse(INVALID_CONTEXT, reason));
        }
    }
    call.unsupported()
}
