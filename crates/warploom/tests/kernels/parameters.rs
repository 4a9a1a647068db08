//! Kernel parameters and attributes.

use warploom::driver::Function;
use warploom::sys::types::CUresult;
use warploom::{CachePreference, Error, KernelAttribute, LaunchError, LibraryError, ParameterInfo};
use warploom_sim::Mode;
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, budget, driver_tests, open};

use super::{Bench, CALLS, MEMORY, Saxpy};

driver_tests! {
    fn a_kernel_reports_its_parameters(driver) {
        let bench = Bench::new(driver)?;
        let saxpy = bench.kernel("saxpy")?;
        let at = |offset, size| ParameterInfo { offset, size };
        assert_eq!(saxpy.parameters()?, [at(0, 4), at(8, 8), at(16, 8), at(24, 4)]);
        budget(driver, &[], || saxpy.parameters().map(drop))?;
        budget(driver, &[(Function::cuLibraryGetKernel, 1)], || bench.kernel("saxpy")?.parameters().map(drop))?;
    }

    fn a_typed_kernel_takes_arguments_of_its_types(driver) {
        let bench = Bench::new(driver)?;
        let saxpy = bench.kernel("saxpy")?;
        let typed = saxpy.typed::<Saxpy>()?;
        assert_eq!(typed.name(), "saxpy");
        budget(driver, &[], || saxpy.typed::<Saxpy>().map(drop))?;
        let refused = |error| Err::<(), _>(Error::Launch(error));
        assert_eq!(
            saxpy.typed::<(f32, &[f32], &mut [f32])>().map(drop),
            refused(LaunchError::ArgumentCount { given: 3, takes: 4 })
        );
        assert_eq!(
            saxpy.typed::<(f64, &[f32], &mut [f32], u32)>().map(drop),
            refused(LaunchError::ArgumentSize { index: 0, given: 8, takes: 4 })
        );
        assert_eq!(
            saxpy.typed::<(f32, &[f32], &mut [f32], bool)>().map(drop),
            refused(LaunchError::ArgumentSize { index: 3, given: 1, takes: 4 })
        );
        assert_eq!(saxpy.typed::<()>().map(drop), refused(LaunchError::ArgumentCount { given: 0, takes: 4 }));
    }

    fn structs_have_the_size_that_the_kernel_takes(driver) {
        let bench = Bench::with(driver, CALLS)?;
        let sizes: Vec<usize> = bench.kernel("struct_by_value")?.parameters()?.iter().map(|info| info.size).collect();
        assert_eq!(sizes[1..], [8, 8]);
        assert_eq!(bench.kernel("ackermann")?.parameters()?.len(), 2);
    }

    fn a_kernel_reports_its_attributes(driver) {
        let bench = Bench::with(driver, MEMORY)?;
        let (device, kernel) = (bench.context.device(), bench.kernel("generic_pointers")?);
        let attributes = kernel.attributes(device)?;
        assert_eq!(attributes.static_shared, 64 * 4);
        assert!((1..=1024).contains(&attributes.max_threads_per_block), "{attributes:?}");
        assert_eq!(attributes.ptx_version, 75);
        assert_eq!(attributes.cluster_size_must_be_set, 0);
        assert_eq!(kernel.attribute(KernelAttribute::StaticShared, device)?, 64 * 4);
        kernel.set_attribute(KernelAttribute::MaxDynamicShared, 100 << 10, device)?;
        assert_eq!(kernel.attribute(KernelAttribute::MaxDynamicShared, device)?, 100 << 10);
        kernel.set_cache_preference(CachePreference::Shared, device)?;
        let refused = kernel.set_attribute(KernelAttribute::Registers, 1, device);
        assert!(refused.is_err_and(|error| error.code().is_some()));
    }
}

#[test]
fn a_driver_that_does_not_report_parameters_is_named_in_the_error() -> TestResult {
    let topology = Topology::preset("h200")?.into_builder().driver_version(12, 3).build()?;
    let (_machine, driver) = open(topology, Mode::Threads)?;
    let bench = Bench::new(&driver)?;
    let saxpy = bench.kernel("saxpy")?;
    assert!(saxpy.typed::<Saxpy>().is_err_and(|error| error.to_string().contains("12.4")));
    let Err(Error::Library(LibraryError::NoSuchKernel { available, .. })) = bench.kernel("sax") else {
        panic!("there is none")
    };
    assert!(available.is_empty());
    Ok(())
}

/// An H200 answers only where a context is current.
#[test]
fn a_driver_that_wants_a_context_to_tell_gets_one() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Sync)?;
    let bench = Bench::new(&driver)?;
    let saxpy = bench.kernel("saxpy")?;
    let wants = Rule::on(Calls::named("cuKernelGetParamInfo")?).nth(1).fail(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    let _scope = machine.inject(Plan::new().rule(wants))?;
    assert_eq!(saxpy.parameters()?.len(), 4);
    Ok(())
}
