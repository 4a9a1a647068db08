//! Kernel nodes that several threads change at once.

use std::sync::Barrier;

use warploom::graph::DotFlags;
use warploom::{Context, GraphDef, Kernel, LaunchConfig, Result};
use warploom_testkit::driver_tests;

use crate::support::Stage;

/// A kernel that does nothing, with fewer and smaller parameters than `saxpy`.
const NOTHING: &str =
    ".version 8.3\n.target sm_75\n.address_size 64\n.visible .entry nothing(.param .u32 a)\n{ ret; }\n";

fn nothing(context: &Context) -> Result<Kernel> {
    context.load(NOTHING)?.kernel("nothing")
}

driver_tests! {
    /// S2.44: one thread replaces the kernel of a node and another its configuration or arguments. Whichever
    /// comes first, the node launches the kernel that the graph keeps, with arguments of that kernel.
    fn a_kernel_node_keeps_the_kernel_that_it_launches(driver) {
        let stage = Stage::new(driver)?;
        let (x, mut y) = (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
        let (saxpy, nothing) = (stage.saxpy()?, nothing(&stage.context)?);
        let (one, two) = (LaunchConfig::new(1, 32), LaunchConfig::new(2, 32));
        for round in 0..400 {
            let graph = GraphDef::new(&stage.context)?;
            let arguments = (2.0_f32, &x, &mut y, 4_u32);
            #[expect(unsafe_code, reason = "adds kernels")]
            // SAFETY: it reads and writes as many values as it is told, and is not launched.
            let node = unsafe { graph.entry().kernel(&saxpy, &one, arguments) }?;
            let barrier = Barrier::new(2);
            std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    barrier.wait();
                    #[expect(unsafe_code, reason = "changes kernels")]
                    // SAFETY: it uses no memory.
                    unsafe { node.set_kernel(&nothing, &one, (5_u32,)) }
                });
                barrier.wait();
                #[expect(unsafe_code, reason = "changes kernels")]
                // SAFETY: neither kernel is launched.
                let changed = unsafe {
                    match round % 2 {
                        0 => node.set_config(&two),
                        _ => node.set_arguments((5_u32,)),
                    }
                };
                // The arguments are those of the other kernel, and refused as long as the node has its first.
                assert!(changed.is_ok() || round % 2 == 1, "{changed:?}");
                other.join().expect("does not panic")
            })?;
            let kept = node.kernel()?.ok_or("the graph keeps the kernel")?;
            assert_eq!(kept, nothing);
            let text = graph.dot(DotFlags::new().verbose())?;
            assert!(text.contains("nothing") && !text.contains("saxpy"), "{text}");
        }
    }
}
