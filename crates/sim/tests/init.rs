//! Starting up, versions, names of codes, and finding functions.

use warploom_testkit::{Primary, answers, call, driver_tests};

driver_tests! {
    fn flags_of_init_must_be_zero(driver) {
        answers!(driver.cuInit(1), CUDA_ERROR_INVALID_VALUE);
    }

    fn a_machine_has_devices(driver) {
        let mut count = 0;
        call!(driver.cuDeviceGetCount(&mut count))?;
        assert!(count >= 1);
        let primary = Primary::of(driver, 0);
        drop(primary);
    }
}
