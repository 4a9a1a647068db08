//! Libraries: loading, kernels and variables.
#![expect(unsafe_code, reason = "loads binaries, and uses variables")]

use std::collections::HashSet;
use std::sync::Arc;

use warploom::sys::types::CUresult;
use warploom::{DeviceError, Error, JitOptions, Kernel, LaunchConfig, Library, LibraryError, MemoryError, Result};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Resource};
use warploom_testkit::{TestResult, budget, driver_tests, open};

use super::{Bench, MEMORY, VECTOR, readable};

driver_tests! {
    fn a_library_knows_its_kernels(driver) {
        let library = Library::from_ptx(driver, &readable(VECTOR))?;
        let saxpy = library.kernel("saxpy")?;
        assert_eq!(saxpy.name(), "saxpy");
        assert_eq!(saxpy.library(), Some(&library));
        let names: Vec<String> = library.kernels()?.iter().map(|kernel| kernel.name().to_owned()).collect();
        assert!(names.iter().any(|name| name == "saxpy") && names.iter().any(|name| name == "add_u8"), "{names:?}");
        assert_eq!(library.kernel("saxpy")?, saxpy);
        assert_ne!(library.kernel("add_u8")?, saxpy);
    }

    /// equal libraries and typed kernels have one hash.
    fn libraries_and_typed_kernels_are_keys(driver) {
        let (one, other) = (Library::from_ptx(driver, &readable(MEMORY))?, Library::from_ptx(driver, &readable(MEMORY))?);
        assert_eq!(HashSet::from([one.clone(), other.clone(), one.clone()]).len(), 2);
        let kernel = one.kernel("read_initial")?;
        // SAFETY: they are not launched.
        let typed = || unsafe { kernel.typed_unverified::<(u64,)>() };
        assert_eq!(HashSet::from([typed(), typed()]).len(), 1);
        // SAFETY: as above.
        assert_ne!(typed(), unsafe { other.kernel("read_initial")?.typed_unverified::<(u64,)>() });
    }

    /// KER-1, KER-2: from a raw handle, by the library that it is in, or kept loaded by other code.
    fn a_kernel_is_the_same_by_its_raw_handle(driver) {
        let bench = Bench::new(driver)?;
        let saxpy = bench.kernel("saxpy")?;
        assert_eq!(bench.library.kernel_from_raw(saxpy.as_raw())?, saxpy);
        let other = Library::from_ptx(driver, &readable(MEMORY))?;
        let Err(Error::Library(LibraryError::NoSuchKernel { available, .. })) = other.kernel_from_raw(saxpy.as_raw()) else {
            panic!("it is of another library")
        };
        assert!(available.iter().any(|name| name == "generic_pointers"));
        assert!(matches!(bench.library.kernel_from_raw(std::ptr::null_mut()), Err(Error::Library(LibraryError::NoSuchKernel { .. }))));

        let owner = Arc::new(bench.library.clone());
        // SAFETY: the owner keeps its library loaded.
        let foreign = unsafe { Kernel::from_raw(driver, saxpy.as_raw(), Arc::clone(&owner)) }?;
        assert_eq!((&foreign, foreign.name(), foreign.library()), (&saxpy, "saxpy", None));
        let mut y = bench.pool.upload(&[1.0_f32, 2.0], &bench.stream)?;
        let x = bench.pool.upload(&[1.0_f32, 1.0], &bench.stream)?;
        // SAFETY: two values each.
        unsafe { foreign.launch(&bench.stream, &LaunchConfig::new(1, 32), (2.0_f32, &x, &mut y, 2_u32)) }?;
        assert_eq!(y.download(&bench.stream)?, [3.0, 4.0]);
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(foreign);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    fn a_kernel_that_is_not_there_is_an_error_with_those_that_are(driver) {
        let library = Library::from_ptx(driver, &readable(VECTOR))?;
        for wanted in ["sax", "sax\0py", ""] {
            let Err(Error::Library(LibraryError::NoSuchKernel { name, available })) = library.kernel(wanted) else { panic!("{wanted:?}") };
            assert_eq!(&*name, wanted);
            assert!(available.is_sorted() && available.iter().any(|name| name == "saxpy"), "{available:?}");
        }
        let message = library.kernel("sax").map(drop).map_err(|error| error.to_string());
        assert!(message.is_err_and(|message| message.contains("add_u8, ")));
    }

    fn ptx_that_cannot_be_compiled_is_an_error_with_the_log(driver) {
        let broken = readable(VECTOR).replacen("fma.rn.f32", "fma.wrong.f32", 1);
        let failed = driver.device(0)?.context()?.load(&broken).map(drop);
        let Err(Error::Library(LibraryError::NotLoaded { log, .. })) = &failed else { panic!("{failed:?}") };
        assert!(log.contains("wrong"), "{log}");
        assert_eq!(failed.as_ref().err().and_then(Error::code), Some(CUresult::CUDA_ERROR_INVALID_PTX));
        assert!(failed.is_err_and(|error| error.to_string().contains(" says: ")));
    }

    fn ptx_is_compiled_as_one_likes(driver) {
        let options = JitOptions::new().optimization_level(1).max_registers(32).line_info().verbose();
        let library = Library::from_ptx_with(driver, &readable(VECTOR), options)?;
        library.load_in(&driver.device(0)?.context()?)?;
        assert_eq!(library.kernel("saxpy")?.name(), "saxpy");
        let refused = Library::from_ptx_with(driver, &readable(VECTOR), JitOptions::new().optimization_level(5));
        assert_eq!(refused.map(drop), Err(Error::Library(LibraryError::OptimizationLevel { level: 5 })));
    }

    fn malformed_code_is_refused_before_the_driver_is_called(driver) {
        driver.device(0)?;
        budget(driver, &[], || {
            let refused = |bytes: &[u8]| {
                // SAFETY: no driver follows what they say.
                unsafe { Library::from_bytes(driver, bytes) }.map(drop)
            };
            assert_eq!(Library::from_ptx(driver, "// a\0b").map(drop), Err(Error::Library(LibraryError::NulInText { position: 4 })));
            assert_eq!(refused(b"\x7fELF"), Err(Error::Library(LibraryError::Truncated { have: 4, needed: None })));
            // SAFETY: there is no such file.
            let missing = unsafe { Library::from_file(driver, "/no/such/file.cubin") };
            assert!(matches!(missing, Err(Error::Library(LibraryError::Unreadable { .. }))), "{missing:?}");
        });
    }

    fn ptx_comes_from_bytes_and_files_as_well(driver) {
        let path = std::env::temp_dir().join(format!("warploom-{}-{:p}.ptx", std::process::id(), driver));
        std::fs::write(&path, readable(VECTOR))?;
        // SAFETY: it is PTX.
        let loaded = unsafe { [Library::from_bytes(driver, readable(VECTOR).as_bytes()), Library::from_file(driver, &path)] };
        std::fs::remove_file(&path)?;
        for library in loaded {
            assert_eq!(library?.kernel("saxpy")?.name(), "saxpy");
        }
    }

    fn a_variable_is_a_buffer(driver) {
        let bench = Bench::with(driver, MEMORY)?;
        // SAFETY: nobody else uses it.
        let mut numbers = unsafe { bench.library.global::<i32>("numbers", &bench.context) }?;
        assert_eq!(numbers.download(&bench.stream)?, [1, -2, 3, -4, 5, -6]);
        numbers.slice_mut(..2)?.copy_from_host(&[7, 8], &bench.stream)?;
        drop(bench.library);
        assert_eq!(numbers.download(&bench.stream)?, [7, 8, 3, -4, 5, -6]);
    }

    fn a_managed_variable_is_a_buffer(driver) {
        let bench = Bench::with(driver, MEMORY)?;
        // SAFETY: nobody else uses it.
        let answer = unsafe { bench.library.managed_global::<i32>("shared_with_host", &bench.context) }?;
        assert_eq!(answer.download(&bench.stream)?, [42]);
    }

    fn absent_variables_and_those_of_another_size_are_refused(driver) {
        let bench = Bench::with(driver, MEMORY)?;
        for name in ["number", "num\0bers"] {
            // SAFETY: it is not there.
            let missing = unsafe { bench.library.global::<i32>(name, &bench.context) };
            assert_eq!(missing.map(drop), Err(Error::Library(LibraryError::NoSuchGlobal { name: name.into() })));
        }
        // SAFETY: it is not used.
        let refused = unsafe { bench.library.global::<[u8; 7]>("numbers", &bench.context) }.map(drop);
        assert!(matches!(refused, Err(Error::Memory(MemoryError::Cast { bytes: 24, size: 7, .. }))), "{refused:?}");
    }

    fn a_library_is_the_same_in_all_contexts_and_its_modules_are_not(driver) {
        let (one, other) = (driver.device(0)?.context()?, driver.device(0)?.create_context(Default::default())?);
        let library = Library::from_ptx(driver, &readable(VECTOR))?;
        assert_ne!(library.module(&one)?, library.module(&other)?);
        let saxpy = library.kernel("saxpy")?;
        assert_ne!(saxpy.function(&one)?, saxpy.function(&other)?);
        assert_eq!(saxpy.function(&one)?, saxpy.function(&one)?);
    }

    fn a_library_goes_with_its_last_kernel(driver) {
        let library = Library::from_ptx(driver, &readable(VECTOR))?;
        let kernel = library.kernel("saxpy")?;
        library.close()?;
        assert_eq!(kernel.parameters()?.len(), 4);
    }
}

#[test]
fn libraries_are_unloaded() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let library = context.load(&readable(VECTOR))?;
    let kernel = library.kernel("saxpy")?;
    assert_eq!(libraries(&machine), 1);
    drop(library);
    assert_eq!(libraries(&machine), 1);
    drop(kernel);
    assert_eq!(libraries(&machine), 0);
    Ok(())
}

fn libraries(machine: &Machine) -> u64 {
    machine.census().live(Resource::Library)
}

#[test]
fn contexts_of_another_driver_are_refused() -> TestResult {
    let (_one, one) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (library, context) = (Library::from_ptx(&one, &readable(MEMORY))?, other.device(0)?.context()?);
    let kernel = library.kernel("read_initial")?;
    let refused: [Result<()>; 5] = [
        library.load_in(&context),
        // SAFETY: it is refused.
        unsafe { library.global::<i32>("numbers", &context) }.map(drop),
        kernel.function(&context).map(drop),
        kernel.attributes(context.device()).map(drop),
        kernel.occupancy(&context).map(drop),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
    }
    Ok(())
}
