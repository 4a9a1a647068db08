//! Bodies of functions that are not simulated: they answer `NOT_SUPPORTED` and say so in the log.
#![expect(dead_code, reason = "`implemented` shadows most of these")]
#![expect(clippy::too_many_arguments, reason = "as many as the C functions have")]

use warploom_sys::for_each_function;

use crate::ffi::Cross;
use crate::ffi::status::Status;
use crate::machine::call::Call;

macro_rules! bodies {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        $(
            pub(crate) fn $slot(call: &Call<'_>, $($argument: <$type as Cross>::View),*) -> Status {
                $(let _ = $argument;)*
                call.unsupported()
            }
        )*
    };
}
for_each_function!(bodies);
