//! One body, two tests.

/// Turns each body into a test on the simulator and one on the real driver.
///
/// ```text
/// driver_tests! {
///     fn a_new_stream_is_idle(driver) { … }                 // …::sim in every asynchronous mode, and …::cuda
///     threads fn a_host_thread_polls_pinned_memory(driver) { … }   // …::sim only where work runs by itself
///     sim fn a_destroyed_stream_is_refused(driver) { … }    // …::sim alone
///     unchecked fn allocations_are_neighbours(driver) { … } // …::sim without checks, and …::cuda
/// }
/// ```
///
/// `sim fn` is for what the real driver leaves undefined, such as the use of a destroyed handle: it crashes,
/// or answers one thing today and another tomorrow, and the simulator promises more.
///
/// `unchecked fn` is for accesses beyond memory, which are findings, and for addresses: a machine that checks
/// puts allocations further apart.
///
/// A body gets an initialised `&Driver` and may use `?`.
#[macro_export]
macro_rules! driver_tests {
    ($($tests:tt)*) => {
        $crate::driver_tests_of!([$crate::driver::Driver] $($tests)*);
    };
}

/// As [`driver_tests!`], for bodies that get another type of driver, which is made from a `Driver`:
/// `driver_tests_of!([warploom::Driver] fn … { … })`.
#[macro_export]
macro_rules! driver_tests_of {
    ([$($kind:tt)+]) => {};
    ([$($kind:tt)+] $(#[$meta:meta])* fn $name:ident($driver:ident) $body:block $($rest:tt)*) => {
        $crate::driver_tests_of!(@both [$($kind)+] $(#[$meta])* $name, $driver, $body, $crate::ASYNCHRONOUS);
        $crate::driver_tests_of!([$($kind)+] $($rest)*);
    };
    ([$($kind:tt)+] $(#[$meta:meta])* threads fn $name:ident($driver:ident) $body:block $($rest:tt)*) => {
        $crate::driver_tests_of!(@both [$($kind)+] $(#[$meta])* $name, $driver, $body, &[$crate::sim::Mode::Threads]);
        $crate::driver_tests_of!([$($kind)+] $($rest)*);
    };
    ([$($kind:tt)+] $(#[$meta:meta])* sim fn $name:ident($driver:ident) $body:block $($rest:tt)*) => {
        $crate::driver_tests_of!(@module [$($kind)+] $(#[$meta])* $name, $driver, $body, $crate::ASYNCHRONOUS, {});
        $crate::driver_tests_of!([$($kind)+] $($rest)*);
    };
    ([$($kind:tt)+] $(#[$meta:meta])* unchecked fn $name:ident($driver:ident) $body:block $($rest:tt)*) => {
        $crate::driver_tests_of!(
            @with [$($kind)+] on_unchecked_sim_in, $(#[$meta])* $name, $driver, $body, $crate::ASYNCHRONOUS, {
                #[test]
                #[ignore = "needs an NVIDIA GPU and its driver"]
                fn cuda() -> $crate::TestResult {
                    $crate::on_cuda(body)
                }
            }
        );
        $crate::driver_tests_of!([$($kind)+] $($rest)*);
    };
    (@both [$($kind:tt)+] $(#[$meta:meta])* $name:ident, $driver:ident, $body:block, $modes:expr) => {
        $crate::driver_tests_of!(@module [$($kind)+] $(#[$meta])* $name, $driver, $body, $modes, {
            #[test]
            #[ignore = "needs an NVIDIA GPU and its driver"]
            fn cuda() -> $crate::TestResult {
                $crate::on_cuda(body)
            }
        });
    };
    (@module [$($kind:tt)+] $(#[$meta:meta])* $name:ident, $driver:ident, $body:block, $modes:expr, $more:tt) => {
        $crate::driver_tests_of!(@with [$($kind)+] on_sim_in, $(#[$meta])* $name, $driver, $body, $modes, $more);
    };
    (
        @with [$($kind:tt)+]
        $run:ident, $(#[$meta:meta])* $name:ident, $driver:ident, $body:block, $modes:expr, { $($more:tt)* }
    ) => {
        $(#[$meta])*
        mod $name {
            use super::*;

            fn body($driver: &$($kind)+) -> $crate::TestResult {
                $body
                Ok(())
            }

            #[test]
            fn sim() -> $crate::TestResult {
                $crate::$run($modes, body)
            }

            $($more)*
        }
    };
}

/// `true` if a type has a trait: `implements!(Stream: Send + Sync)` is `true` or `false`.
///
/// The constant of the type itself, which is there if the bound holds, hides that of the trait.
///
/// ```
/// # use std::rc::Rc;
/// # use warploom_testkit::implements;
/// assert!(implements!(u32: Send) && !implements!(Rc<u32>: Send));
/// ```
#[macro_export]
macro_rules! implements {
    ($type:ty: $($bound:tt)+) => {{
        struct Probe<T>(::core::marker::PhantomData<T>);
        trait Otherwise {
            const HOLDS: bool = false;
        }
        impl<T> Otherwise for Probe<T> {}
        #[expect(unused, reason = "one of the two constants is hidden")]
        impl<T: $($bound)+> Probe<T> {
            const HOLDS: bool = true;
            const HIDDEN: bool = <Self as Otherwise>::HOLDS;
        }
        <Probe<$type>>::HOLDS
    }};
}
