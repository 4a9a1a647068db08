//! The shortest way through everything: allocate, copy there and back, free.

use warploom_testkit::{Primary, call, driver_tests};

driver_tests! {
    fn bytes_survive_the_trip_to_the_device_and_back(driver) {
        let primary = Primary::of(driver, 0)?;
        let sent: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let mut received = vec![0; sent.len()];
        let mut device = 0;
        call!(driver.cuMemAlloc_v2(&mut device, sent.len()))?;
        call!(driver.cuMemcpyHtoD_v2(device, sent.as_ptr().cast(), sent.len()))?;
        call!(driver.cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), device, sent.len()))?;
        call!(driver.cuMemFree_v2(device))?;
        assert_eq!(sent, received);
        drop(primary);
    }
}
