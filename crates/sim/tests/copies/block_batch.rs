use std::ptr::{null_mut, without_provenance_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::{DeviceModel, Topology};
use warploom_testkit::sys::types::{
    CUDA_MEMCPY3D_BATCH_OP, CUextent3D, CUmemLocation, CUmemLocationType, CUmemcpy3DOperand,
    CUmemcpy3DOperand_st__bindgen_ty_1, CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1, CUmemcpy3DOperandType,
    CUmemcpySrcAccessOrder, CUresult, CUstream,
};
use warploom_testkit::{ASYNCHRONOUS, Primary, Stream, TestResult, answers, call, code_of, driver_tests, open};

use crate::support::{ANY_ORDER, DURING_CALL, Memory, STREAM_ORDER, counting};

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const NOBODY: usize = usize::MAX;
const UNTOUCHED: usize = 12345;

/// Memory at an address, in layers of some rows of some length.
fn operand(address: u64, row_length: usize, layer_height: usize) -> CUmemcpy3DOperand {
    CUmemcpy3DOperand {
        type_: CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_POINTER,
        op: CUmemcpy3DOperand_st__bindgen_ty_1 {
            ptr: CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1 {
                ptr: address,
                rowLength: row_length,
                layerHeight: layer_height,
                locHint: CUmemLocation::new(CUmemLocationType(0), 0),
            },
        },
    }
}

/// 2 layers of 4 rows of 32 bytes, in rows of 64.
pub(crate) fn layers(to: u64, from: u64) -> CUDA_MEMCPY3D_BATCH_OP {
    CUDA_MEMCPY3D_BATCH_OP {
        src: operand(from, 64, 4),
        dst: operand(to, 64, 4),
        extent: CUextent3D { width: 32, height: 4, depth: 2 },
        srcAccessOrder: CUmemcpySrcAccessOrder(STREAM_ORDER),
        flags: 0,
    }
}

fn submit(driver: &Driver, copies: &mut [CUDA_MEMCPY3D_BATCH_OP], flags: u64, stream: CUstream) -> (CUresult, usize) {
    let mut culprit = UNTOUCHED;
    let (count, list) = (copies.len(), copies.as_mut_ptr());
    let code = code_of(call!(driver.cuMemcpy3DBatchAsync(count, list, &mut culprit, flags, stream)));
    let newer = code_of(call!(driver.cuMemcpy3DBatchAsync_v2(count, list, flags, stream)));
    assert_eq!(newer, code, "the older and the newer function");
    (code, culprit)
}

driver_tests! {
    fn a_batch_of_blocks_copies_everything(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let sent = counting(4096);
        let from = Memory::of(driver, &sent)?;
        let to = Memory::of(driver, &[0; 4096])?;
        let mut host = sent[100..356].to_vec();
        let packed = CUDA_MEMCPY3D_BATCH_OP {
            src: operand(host.as_ptr().addr() as u64, 0, 0),
            dst: operand(to.address + 2048, 40, 5),
            srcAccessOrder: CUmemcpySrcAccessOrder(DURING_CALL),
            ..layers(0, 0)
        };
        assert_eq!(
            submit(driver, &mut [layers(to.address, from.address), packed], 0, stream.raw),
            (SUCCESS, NOBODY)
        );
        host.fill(0);
        stream.synchronize()?;
        let mut expected = vec![0; 4096];
        for layer in 0..2 {
            for row in 0..4 {
                let at = (layer * 4 + row) * 64;
                expected[at..at + 32].copy_from_slice(&sent[at..at + 32]);
                let (at, packed) = (2048 + (layer * 5 + row) * 40, 100 + (layer * 4 + row) * 32);
                expected[at..at + 32].copy_from_slice(&sent[packed..packed + 32]);
            }
        }
        assert_eq!(to.read()?, expected);
    }

    fn an_operand_that_is_wrong_is_named_and_nothing_is_copied(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let from = Memory::of(driver, &[1; 4096])?;
        let to = Memory::of(driver, &[0; 4096])?;
        let ok = layers(to.address, from.address);
        let extent = |width, height, depth| CUDA_MEMCPY3D_BATCH_OP { extent: CUextent3D { width, height, depth }, ..ok };
        let order = |order| CUDA_MEMCPY3D_BATCH_OP { srcAccessOrder: CUmemcpySrcAccessOrder(order), ..ok };
        let typed = |kind| CUDA_MEMCPY3D_BATCH_OP {
            dst: CUmemcpy3DOperand { type_: CUmemcpy3DOperandType(kind), ..ok.dst },
            ..ok
        };
        for (what, copy) in [
            ("no width", extent(0, 4, 2)),
            ("no height", extent(32, 0, 2)),
            ("no depth", extent(32, 4, 0)),
            ("no order", order(0)),
            ("unknown order", order(4)),
            ("unknown flag", CUDA_MEMCPY3D_BATCH_OP { flags: 2, ..ok }),
            ("no type", typed(0)),
            ("unknown type", typed(3)),
            ("short rows", CUDA_MEMCPY3D_BATCH_OP { src: operand(from.address, 16, 4), ..ok }),
            ("low layers", CUDA_MEMCPY3D_BATCH_OP { src: operand(from.address, 64, 2), ..ok }),
        ] {
            assert_eq!(submit(driver, &mut [ok, copy], 0, stream.raw), (INVALID, 1), "{what}");
        }
        stream.synchronize()?;
        assert_eq!(to.read()?, [0; 4096]);
    }

    fn an_error_of_no_operand_names_none(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::new(driver, 4096)?, Memory::new(driver, 4096)?];
        let ok = layers(to.address, from.address);
        assert_eq!(submit(driver, &mut [], 0, stream.raw), (INVALID, NOBODY), "no copies");
        assert_eq!(submit(driver, &mut [ok], 1, stream.raw), (INVALID, NOBODY), "flags");
        assert_eq!(submit(driver, &mut [layers(0, from.address)], 0, stream.raw), (INVALID, NOBODY), "null");
        assert_eq!(submit(driver, &mut [layers(to.address, 0)], 0, stream.raw), (INVALID, NOBODY), "null");
        assert_eq!(submit(driver, &mut [ok], 0, null_mut()), (INVALID, UNTOUCHED), "legacy default stream");
        assert_eq!(submit(driver, &mut [ok], 0, without_provenance_mut(1)), (INVALID, NOBODY), "by its name");
        assert_eq!(submit(driver, &mut [ok], 0, without_provenance_mut(2)), (SUCCESS, NOBODY), "per thread");
        call!(driver.cuCtxSynchronize())?;
    }

    fn orders_flags_and_packed_operands_are_taken(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::new(driver, 4096)?, Memory::new(driver, 4096)?];
        let ok = layers(to.address, from.address);
        for order in [STREAM_ORDER, DURING_CALL, ANY_ORDER] {
            let copy = CUDA_MEMCPY3D_BATCH_OP { srcAccessOrder: CUmemcpySrcAccessOrder(order), flags: 1, ..ok };
            assert_eq!(submit(driver, &mut [copy], 0, stream.raw), (SUCCESS, NOBODY), "order {order}");
        }
        let packed = CUDA_MEMCPY3D_BATCH_OP { src: operand(from.address, 0, 0), dst: operand(to.address, 0, 0), ..ok };
        assert_eq!(submit(driver, &mut [packed], 0, stream.raw), (SUCCESS, NOBODY));
        stream.synchronize()?;
    }
}

#[test]
fn one_block_with_attributes_is_a_batch_of_one() -> TestResult {
    for mode in ASYNCHRONOUS {
        let topology = Topology::builder().driver_version(13, 2).device(DeviceModel::H200).build()?;
        let (_machine, driver) = open(topology, *mode)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let from = Memory::of(driver, &counting(512))?;
        let to = Memory::of(driver, &[0; 512])?;
        let mut copy = layers(to.address, from.address);
        call!(driver.cuMemcpy3DWithAttributesAsync(&mut copy, 0, stream.raw))?;
        stream.synchronize()?;
        assert_eq!(to.read()?[448..480], counting(512)[448..480]);
        answers!(driver.cuMemcpy3DWithAttributesAsync(&mut copy, 1, stream.raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpy3DWithAttributesAsync(null_mut(), 0, stream.raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpy3DWithAttributesAsync(&mut copy, 0, null_mut()), CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}
