//! Facts about each driver function: its classes, and the situations in which it may be called.
//!
//! [`table`] has one row for each function of the list; everything that treats functions differently reads
//! its row. The family of a function is in the list itself ([`Function::family`]).

mod after_fault;
mod class;
mod table;
pub(crate) mod width;

use warploom_sys::Function;

pub(crate) use self::after_fault::fails_after_fault;
pub use self::class::Class;

use self::class::Classes;

/// The row of a function.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// Works before `cuInit`. The functions that destroy an object look at their handle first, and before
    /// `cuInit` there is no object; settings of core dumps and the error log belong to the process.
    pub(crate) before_init: bool,
    /// Is permitted inside a host function: it works on objects that are named by handle, and needs neither
    /// the current context nor an allocator.
    pub(crate) in_host_function: bool,
    /// Is permitted while a stream is captured, if only with some arguments. Launching the graph would not
    /// repeat any other call, so the driver refuses it.
    pub(crate) in_capture: bool,
    /// Only finds functions. Loaders make hundreds of such calls before a program's first, so they are not
    /// counted.
    pub(crate) finds_functions: bool,
    /// Acts on the current context if its arguments name no device and no object of a device. Other functions
    /// act on the process or on the thread.
    pub(crate) on_current_context: bool,
    /// The classes by which fault plans select it.
    classes: Classes,
}

/// The rows, by the function's index.
static RULES: [Rule; Function::ALL.len()] = {
    let mut rules = [table::row(Function::ALL[0]); Function::ALL.len()];
    let mut index = 0;
    while index < rules.len() {
        rules[index] = table::row(Function::ALL[index]);
        index += 1;
    }
    rules
};

/// The row of a function.
#[inline]
pub(crate) fn of(function: Function) -> &'static Rule {
    &RULES[function.index()]
}

/// `true` if a call of a function may change the memory in use of a device or a pool.
pub(crate) fn may_change_memory(function: Function) -> bool {
    let classes = [Class::Alloc, Class::Free, Class::Create, Class::Release, Class::Sync, Class::Graph, Class::Pool];
    classes.iter().any(|class| class.contains(function))
}

impl Class {
    /// `true` if a function is of this class.
    #[must_use]
    pub fn contains(self, function: Function) -> bool {
        of(function).classes.contain(self)
    }

    /// Every function of this class.
    pub fn functions(self) -> impl Iterator<Item = Function> {
        Function::ALL.iter().copied().filter(move |function| self.contains(*function))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn where_not(holds: impl Fn(&Rule) -> bool) -> Vec<Function> {
        Function::ALL.iter().copied().filter(|function| !holds(of(*function))).collect()
    }

    #[test]
    fn functions_work_before_init_if_they_need_no_device_or_destroy() {
        use Function::*;
        assert_eq!(
            where_not(|rule| !rule.before_init),
            [
                cuGetErrorString,
                cuGetErrorName,
                cuInit,
                cuDriverGetVersion,
                cuGetExportTable,
                cuGetProcAddress,
                cuGetProcAddress_v2,
                cuCtxDestroy,
                cuCtxDestroy_v2,
                cuStreamDestroy,
                cuStreamDestroy_v2,
                cuEventDestroy,
                cuEventDestroy_v2,
                cuProfilerInitialize,
                cuCoredumpGetAttribute,
                cuCoredumpGetAttributeGlobal,
                cuCoredumpSetAttribute,
                cuCoredumpSetAttributeGlobal,
                cuLogsCurrent,
                cuLogsDumpToFile,
                cuLogsDumpToMemory,
                cuLogsRegisterCallback,
                cuLogsUnregisterCallback,
            ]
        );
    }

    #[test]
    fn every_function_of_a_stream_or_event_is_permitted_inside_a_host_function() {
        for function in Function::ALL {
            if ["stream", "event"].contains(&function.family()) {
                assert!(of(*function).in_host_function, "{function}");
            }
        }
    }

    #[test]
    fn functions_about_devices_do_not_act_on_the_current_context() {
        for function in where_not(|rule| rule.on_current_context) {
            assert!(
                ["init", "device", "context", "coredump", "logs", "notification"].contains(&function.family()),
                "{function}"
            );
        }
        assert!(!of(Function::cuDeviceGetName).on_current_context);
        assert!(of(Function::cuMemGetInfo_v2).on_current_context);
    }
}
