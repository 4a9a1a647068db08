//! A simulated driver that takes any bytes as code, and as data of other processes.

pub mod shared;

use std::ptr::null_mut;
use std::sync::OnceLock;

use warploom_testkit::call;
use warploom_testkit::driver::Driver;
use warploom_testkit::sim::{Checks, Machine, Mode};
use warploom_testkit::sys::types::CUjitInputType;

/// A driver with a current context, and the machine that it drives.
fn driver() -> &'static Driver {
    static DRIVER: OnceLock<(Machine, Driver)> = OnceLock::new();
    let start = || {
        let machine = Machine::builder().mode(Mode::Sync).checks(Checks::off()).start().expect("a machine starts");
        let driver = Driver::open(&machine).expect("it has a driver");
        driver.initialize().expect("it is initialised");
        let (mut context, driver_) = (null_mut(), &driver);
        call!(driver_.cuDevicePrimaryCtxRetain(&mut context, 0)).expect("there is a device");
        call!(driver_.cuCtxSetCurrent(context)).expect("it has a context");
        (machine, driver)
    };
    &DRIVER.get_or_init(start).1
}

/// Links bytes of a kind, and loads what came of it: refused or not, nothing else may happen.
pub fn link(kind: CUjitInputType, bytes: &[u8]) {
    let (driver, mut state, mut image, mut module) = (driver(), null_mut(), null_mut(), null_mut());
    call!(driver.cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state)).expect("a linker is made");
    let data = bytes.as_ptr().cast_mut().cast();
    let name = c"input".as_ptr();
    let added = call!(driver.cuLinkAddData_v2(state, kind, data, bytes.len(), name, 0, null_mut(), null_mut()));
    let completed = call!(driver.cuLinkComplete(state, &mut image, null_mut()));
    if completed.is_ok() && call!(driver.cuModuleLoadData(&mut module, image)).is_ok() {
        call!(driver.cuModuleUnload(module)).expect("it was loaded");
    } else {
        assert!(added.is_err() || completed.is_err() || module.is_null());
    }
    call!(driver.cuLinkDestroy(state)).expect("it was made");
}
