//! Host nodes: closures and their panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom::{Error, StreamError};
use warploom_testkit::driver_tests;

use crate::support::Stage;

driver_tests! {
    /// S2.32: a panic in a closure stays there and is a value; the launch goes on, and so does the next.
    fn a_panic_in_a_closure_is_a_value(driver) {
        let stage = Stage::new(driver)?;
        let calls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&calls);
        let host = stage.graph.entry().host(|| panic!("as told"))?;
        host.then().host(move || _ = counted.fetch_add(1, Ordering::Relaxed))?;
        let exec = stage.graph.instantiate()?;
        assert_eq!((host.panics(), host.take_panic()), (0, None));
        exec.launch(&stage.stream)?;
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!((calls.load(Ordering::Relaxed), host.panics()), (2, 2));
        let message = "as told".into();
        assert_eq!(host.take_panic(), Some(Error::Stream(StreamError::HostFunctionPanicked { message })));
        assert_eq!(host.take_panic(), None);
    }

    /// S2.32: a panic whose value panics when it is dropped stays there as well.
    fn a_panic_whose_value_panics_is_a_value(driver) {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let stage = Stage::new(driver)?;
        let host = stage.graph.entry().host(|| std::panic::panic_any(Bomb))?;
        stage.graph.instantiate()?.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!(host.panics(), 1);
        let message = "a payload that is not text".into();
        assert_eq!(host.take_panic(), Some(Error::Stream(StreamError::HostFunctionPanicked { message })));
    }

    /// S2.32: executables of one graph share its closure.
    fn executables_share_a_closure(driver) {
        let stage = Stage::new(driver)?;
        let calls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&calls);
        stage.graph.entry().host(move || _ = counted.fetch_add(1, Ordering::Relaxed))?;
        let (one, two) = (stage.graph.instantiate()?, stage.graph.instantiate()?);
        one.launch(&stage.stream)?;
        two.launch(&stage.other)?;
        stage.context.synchronize()?;
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }
}
