//! Accesses beyond memory: mapped memory can be accessed, as on an H200, and a machine that checks reports
//! it.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{Checks, FindingKind, KernelChecks, KernelFault, Machine, Mode, Order};
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{Primary, TestResult, call, code_of, driver_tests};

use crate::arguments;
use crate::support::{Module, download, launch, upload};

const BLOCK: u64 = 2 << 20;
const CHUNK: u64 = 32 << 20;

/// Kernels of one thread that access a word `at` bytes from somewhere.
fn kernels() -> TestResult<CString> {
    let global = "ld.param.u64 %rd1, [at]; ld.param.u64 %rd2, [out];";
    let entry = |name: &str, room: &str, body: &str| {
        format!(
            ".visible .entry {name}(.param .u64 at, .param .u64 out, .param .align 8 .b8 more[16]) {{
             .reg .b32 %r<8>; .reg .b64 %rd<8>; {room} {global} {body} st.global.u32 [%rd2], %r1; ret; }}\n"
        )
    };
    let shared = "cvt.u32.u64 %r2, %rd1; mov.u32 %r3, part; add.u32 %r2, %r2, %r3;";
    let texts = [
        entry("peek", "", "ld.global.u32 %r1, [%rd1];"),
        entry("peek_four", "", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1]; add.u32 %r1, %r1, %r4;"),
        entry(
            "peek_three",
            "",
            ".pragma \"used_bytes_mask 0xfff\"; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1]; add.u32 %r1, %r1, %r3;",
        ),
        entry("poke", "", "st.global.u32 [%rd1], 77; ld.volatile.global.u32 %r1, [%rd1];"),
        entry("add", "", "atom.global.add.u32 %r1, [%rd1], 5; atom.global.add.u32 %r1, [%rd1], 5;"),
        entry(
            "shared",
            ".shared .align 16 .b8 part[64];",
            &format!("{shared} st.shared.u32 [%r2], 78; ld.volatile.shared.u32 %r1, [%r2];"),
        ),
        entry("shared_read", ".shared .align 16 .b8 part[64];", &format!("{shared} ld.shared.u32 %r1, [%r2];")),
        entry(
            "local",
            ".local .align 16 .b8 mine[16];",
            "mov.u64 %rd3, mine; add.u64 %rd3, %rd3, %rd1; st.local.u32 [%rd3], 79; ld.local.u32 %r1, [%rd3];",
        ),
        entry("parameter", "", "mov.b64 %rd3, more; add.u64 %rd3, %rd3, %rd1; ld.param.u32 %r1, [%rd3];"),
    ];
    Ok(CString::new(format!(".version 8.3\n.target sm_90\n.address_size 64\n{}", texts.concat()))?)
}

/// A context, the kernels, and a word for their result.
struct Bench<'d> {
    driver: &'d Driver,
    module: Module,
    out: u64,
    _primary: Primary,
}

impl<'d> Bench<'d> {
    fn new(driver: &'d Driver) -> TestResult<Bench<'d>> {
        let primary = Primary::of(driver, 0)?;
        Ok(Bench { driver, module: Module::load(driver, &kernels()?)?, out: upload(driver, &[0])?, _primary: primary })
    }

    /// The code that a kernel leaves its context with.
    fn run(&self, kernel: &str, at: u64) -> TestResult<CUresult> {
        let (driver, out, more) = (self.driver, self.out, [0_u32; 4]);
        drop(launch(driver, self.module.function(kernel)?, (1, 1), null_mut(), &mut arguments!(at, out, more)));
        Ok(code_of(call!(driver.cuCtxSynchronize())))
    }

    /// The result of a kernel that must not fault.
    fn result(&self, kernel: &str, at: u64) -> TestResult<u32> {
        assert_eq!(self.run(kernel, at)?, CUresult::CUDA_SUCCESS, "{kernel} at {at:#x}");
        Ok(download(self.driver, self.out, 1)?[0])
    }

    fn plain(&self, bytes: usize) -> TestResult<u64> {
        let (driver, mut address) = (self.driver, 0);
        call!(driver.cuMemAlloc_v2(&mut address, bytes))?;
        call!(driver.cuMemsetD8_v2(address, 1, bytes))?;
        Ok(address)
    }

    fn of_pool(&self, bytes: usize) -> TestResult<u64> {
        let (driver, mut address) = (self.driver, 0);
        call!(driver.cuMemAllocAsync(&mut address, bytes, null_mut()))?;
        call!(driver.cuMemsetD8Async(address, 1, bytes, null_mut()))?;
        call!(driver.cuStreamSynchronize(null_mut()))?;
        Ok(address)
    }

    fn free(&self, addresses: &[u64]) -> TestResult {
        let driver = self.driver;
        for address in addresses {
            call!(driver.cuMemFree_v2(*address))?;
        }
        Ok(())
    }

    fn end(self) -> TestResult {
        self.free(&[self.out])
    }
}

/// The last word of the aligned range of some size that an address is in.
fn last_word(address: u64, size: u64) -> u64 {
    address / size * size + size - 4
}

driver_tests! {
    /// Compilers widen loads, and say which bytes of them are used.
    fn bytes_that_a_load_does_not_use_are_not_checked(driver) {
        let bench = Bench::new(driver)?;
        let memory = bench.plain(28)?;
        assert_eq!(bench.result("peek_three", memory + 16)?, 0x0202_0202);
        let mut fresh = 0;
        call!(driver.cuMemAlloc_v2(&mut fresh, 16))?;
        call!(driver.cuMemsetD32_v2(fresh, 1, 3))?;
        assert_eq!(bench.result("peek_three", fresh)?, 2);
        bench.free(&[memory, fresh])?;
        bench.end()?;
    }

    unchecked fn the_block_around_a_small_allocation_is_mapped(driver) {
        let bench = Bench::new(driver)?;
        let memory = bench.plain(28)?;
        for at in [memory + 28, memory + 508, last_word(memory, BLOCK)] {
            bench.result("peek", at)?;
        }
        assert_eq!(bench.result("peek", memory + 24)?, 0x0101_0101);
        assert_eq!(bench.result("poke", memory + 28)?, 77);
        assert_eq!(bench.result("peek", memory + 28)?, 77);
        assert_eq!(bench.result("add", memory + 28)?, 82);
        assert_eq!(bench.result("peek_four", memory + 16)?, 0x0101_0101 + 87);
        bench.free(&[memory])?;
        bench.end()?;
    }

    unchecked fn the_rest_of_an_odd_allocation_is_mapped(driver) {
        let bench = Bench::new(driver)?;
        let size = 5 << 20;
        let memory = bench.plain(size)?;
        bench.result("peek", memory + size as u64)?;
        assert_eq!(bench.result("poke", memory + 3 * BLOCK - 4)?, 77);
        bench.free(&[memory])?;
        bench.end()?;
    }

    unchecked fn a_pool_maps_whole_chunks(driver) {
        let bench = Bench::new(driver)?;
        let memory = bench.of_pool(28)?;
        bench.result("peek", last_word(memory, CHUNK))?;
        assert_eq!(bench.result("poke", memory + 28)?, 77);
        assert_eq!(bench.result("add", memory + 28)?, 82);
        bench.free(&[memory])?;
        bench.end()?;
    }

    unchecked fn a_freed_allocation_stays_mapped_with_the_others_of_its_block(driver) {
        let bench = Bench::new(driver)?;
        let (memory, other) = (bench.plain(28)?, bench.plain(28)?);
        bench.free(&[memory])?;
        assert_eq!(bench.result("peek", memory)?, 0x0101_0101);
        bench.free(&[other])?;
        bench.end()?;
    }

    unchecked fn shared_memory_is_bounded_by_its_granule(driver) {
        let bench = Bench::new(driver)?;
        for at in [64, 124] {
            assert_eq!(bench.result("shared", at)?, 78);
        }
        bench.end()?;
    }

    unchecked fn local_memory_is_bounded_by_the_stack(driver) {
        let bench = Bench::new(driver)?;
        for at in [16, 128, 512] {
            assert_eq!(bench.result("local", at)?, 79);
        }
        bench.end()?;
    }

    unchecked fn arguments_read_as_zero_behind_the_last(driver) {
        let bench = Bench::new(driver)?;
        for at in [16, 64, 4000, 65_536, 1 << 20] {
            assert_eq!(bench.result("parameter", at)?, 0);
        }
        bench.end()?;
    }
}

fn machine(checks: Checks, mode: Mode) -> TestResult<(Machine, Driver)> {
    let machine = Machine::builder().topology(Topology::preset("h200")?).mode(mode).checks(checks).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    Ok((machine, driver))
}

/// An H200 leaves its context with the same codes, asked one process for each.
#[test]
fn memory_that_is_not_mapped_is_an_illegal_address() -> TestResult {
    type Place = fn(&Bench<'_>) -> TestResult<u64>;
    let cases: [(&str, Place); 12] = [
        ("peek", |bench| Ok(last_word(bench.plain(28)?, BLOCK) + 4)),
        ("poke", |bench| Ok(bench.plain(2 << 20)? + BLOCK)),
        ("add", |bench| Ok(bench.plain(5 << 20)? + 3 * BLOCK)),
        ("peek", |bench| Ok(last_word(bench.of_pool(28)?, CHUNK) + 4)),
        ("peek", |bench| Ok(bench.of_pool(28)? / CHUNK * CHUNK - 4)),
        ("shared", |_| Ok(128)),
        ("shared_read", |_| Ok(128)),
        ("local", |_| Ok(1024)),
        ("peek", |bench| {
            let memory = bench.plain(2 << 20)?;
            bench.free(&[memory])?;
            Ok(memory)
        }),
        ("peek", |bench| {
            let memory = bench.of_pool(28)?;
            let driver = bench.driver;
            call!(driver.cuMemFreeAsync(memory, null_mut()))?;
            call!(driver.cuStreamSynchronize(null_mut()))?;
            Ok(memory)
        }),
        ("peek", |_| Ok(0)),
        ("peek", |_| Ok(0xdead_0000)),
    ];
    for (number, (kernel, place)) in cases.into_iter().enumerate() {
        for checks in [Checks::off(), Checks::report()] {
            let (_machine, driver) = machine(checks, Mode::Sync)?;
            let bench = Bench::new(&driver)?;
            let at = place(&bench)?;
            let code = bench.run(kernel, at)?;
            assert_eq!(code, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, "case {number}, {kernel} at {at:#x}");
        }
    }
    Ok(())
}

/// An H200 keeps 1 KiB in front of a block's shared memory for itself, and has nothing in front of that.
#[test]
fn shared_memory_far_in_front_of_the_block_is_an_illegal_instruction() -> TestResult {
    let (_machine, driver) = machine(Checks::off(), Mode::Sync)?;
    let code = Bench::new(&driver)?.run("shared_read", (-1028_i64).cast_unsigned())?;
    assert_eq!(code, CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION);
    Ok(())
}

fn faults(machine: &Machine) -> Vec<KernelFault> {
    let kinds = machine.findings().into_iter().map(|finding| match finding.kind {
        FindingKind::KernelFault { fault, .. } => *fault,
        other => panic!("{other}"),
    });
    kinds.collect()
}

/// The places that hardware lets a kernel access, and a part of the report.
type Overrun = (&'static str, fn(&Bench<'_>) -> TestResult<u64>, &'static str);

const OVERRUNS: [Overrun; 10] = [
    ("peek", |bench| Ok(bench.plain(28)? + 28), "0 bytes behind the end of the 28 bytes at"),
    ("poke", |bench| Ok(bench.plain(28)? + 32), "4 bytes behind the end of the 28 bytes at"),
    ("add", |bench| Ok(bench.plain(28)? + 28), "0 bytes behind the end of the 28 bytes at"),
    ("peek_four", |bench| Ok(bench.plain(28)? + 16), "0 bytes behind the end of the 28 bytes at"),
    ("poke", |bench| Ok(bench.of_pool(512)? + 512), "0 bytes behind the end of the 512 bytes at"),
    ("poke", |bench| Ok(bench.plain(512)? + 512), "0 bytes behind the end of the 512 bytes at"),
    ("shared", |_| Ok(64), "shared memory at 0x40 lies outside of the block's 64 bytes"),
    ("shared_read", |_| Ok(124), "shared memory at 0x7c lies outside of the block's 64 bytes"),
    ("local", |_| Ok(16), "local memory at 0x10 is out of bounds for the thread"),
    ("parameter", |_| Ok(16), "kernel parameter at 0x20 is out of bounds"),
];

#[test]
fn an_overrun_is_a_finding_and_no_error() -> TestResult {
    for mode in [Mode::Sync, Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        for kernels in [KernelChecks::ALL, KernelChecks::NONE] {
            for (kernel, place, says) in OVERRUNS {
                let (machine, driver) = machine(Checks::report().kernels(kernels), mode)?;
                let bench = Bench::new(&driver)?;
                let at = place(&bench)?;
                bench.result(kernel, at)?;
                let [fault] = &faults(&machine)[..] else { panic!("{kernel}: {:?}", machine.findings()) };
                assert_eq!((&*fault.kernel, fault.block, fault.thread), (kernel, [0; 3], [0; 3]));
                assert!(fault.to_string().contains(says), "{kernel} with {kernels:?}: {fault}");
            }
        }
    }
    Ok(())
}

#[test]
fn an_overrun_fails_the_kernel_where_findings_fail_calls() -> TestResult {
    for (kernel, place, says) in OVERRUNS {
        let (machine, driver) = machine(Checks::fail(), Mode::Sync)?;
        let bench = Bench::new(&driver)?;
        let at = place(&bench)?;
        assert_eq!(bench.run(kernel, at)?, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, "{kernel}");
        let [fault] = &faults(&machine)[..] else { panic!("{kernel}: {:?}", machine.findings()) };
        assert!(fault.to_string().contains(says), "{kernel}: {fault}");
    }
    Ok(())
}

#[test]
fn freed_memory_that_is_still_mapped_is_named_with_its_free() -> TestResult {
    let (machine, driver) = machine(Checks::report(), Mode::Sync)?;
    let bench = Bench::new(&driver)?;
    let (memory, _other) = (bench.plain(28)?, bench.plain(28)?);
    bench.free(&[memory])?;
    assert_eq!(bench.result("peek", memory)?, 0x0101_0101);
    let [fault] = &faults(&machine)[..] else { panic!("{:?}", machine.findings()) };
    assert!(fault.freed.is_some() && fault.to_string().contains("which cuMemFree_v2"), "{fault}");
    Ok(())
}

/// An overrun by up to 64 bytes meets no neighbour: allocations lie apart, whatever their size.
#[test]
fn an_overrun_spoils_no_neighbour_while_the_machine_checks() -> TestResult {
    for bytes in [28_usize, 512, 4096, 1 << 18, 2 << 20, 4 << 20] {
        let (machine, driver) = machine(Checks::report(), Mode::Sync)?;
        let bench = Bench::new(&driver)?;
        let all = [bench.plain(bytes)?, bench.plain(bytes)?, bench.plain(bytes)?];
        for memory in all {
            let at = memory + bytes as u64;
            if bytes < BLOCK as usize {
                bench.result("poke", at)?;
            } else {
                assert!(all.iter().all(|other| !(*other..*other + bytes as u64).contains(&at)), "{bytes} bytes");
            }
        }
        for memory in all {
            let words = download(&driver, memory, bytes / 4)?;
            assert!(words.iter().all(|word| *word == 0x0101_0101), "{bytes} bytes");
        }
        let reported = faults(&machine).len();
        assert_eq!(reported, if bytes < BLOCK as usize { 3 } else { 0 }, "{bytes} bytes");
    }
    Ok(())
}

/// Every instruction is reported once, however often it leaves its memory, and so is every place.
#[test]
fn an_overrun_is_reported_once() -> TestResult {
    let (machine, driver) = machine(Checks::report(), Mode::Sync)?;
    let bench = Bench::new(&driver)?;
    assert_eq!(bench.result("shared", 64)?, 78);
    assert_eq!(faults(&machine).len(), 1, "the store, and not the load of the same word");
    Ok(())
}
