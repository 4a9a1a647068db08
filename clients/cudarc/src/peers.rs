//! Several devices: copies between them, and access to each other's memory.

use cudarc::driver::{CudaContext, sys};

use crate::latch::Latch;
use crate::{Check, Outcome};

pub const CHECKS: &[Check] = &[
    ("every device can reach every other", every_device_can_reach_every_other),
    ("numbers travel around all devices", numbers_travel_around_all_devices),
    ("a copy between devices waits for its source", a_copy_between_devices_waits_for_its_source),
    ("access is enabled and disabled once", access_is_enabled_and_disabled_once),
];

fn every_device_can_reach_every_other() -> Outcome {
    let contexts = (0..4).map(CudaContext::new).collect::<Result<Vec<_>, _>>()?;
    for from in &contexts {
        for to in &contexts {
            let mut can = -1;
            // SAFETY: both devices are there, and the answer has a place.
            unsafe { sys::cuDeviceCanAccessPeer(&mut can, from.cu_device(), to.cu_device()) }.result()?;
            assert_eq!(can == 1, from != to);
        }
    }
    Ok(())
}

fn numbers_travel_around_all_devices() -> Outcome {
    let streams = (0..4).map(|device| CudaContext::new(device)?.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let sent: Vec<u64> = (0..20_000).map(|number| number * number).collect();
    let mut travelling = streams[0].clone_htod(&sent)?;
    for stream in streams[1..].iter().chain(&streams[..1]) {
        travelling = stream.clone_dtod(&travelling)?;
        assert_eq!(travelling.ordinal(), stream.context().ordinal());
    }
    assert_eq!(streams[0].clone_dtoh(&travelling)?, sent);
    Ok(())
}

fn a_copy_between_devices_waits_for_its_source() -> Outcome {
    let (here, there) = (CudaContext::new(0)?, CudaContext::new(1)?);
    let (writer, reader) = (here.new_stream()?, there.new_stream()?);
    let latch = Latch::new(&here)?;
    let mut source = writer.alloc_zeros::<u8>(30_000)?;
    latch.hold(&writer)?;
    writer.memcpy_htod(&vec![0xabu8; 30_000], &mut source)?;
    let copied = reader.clone_dtod(&source)?;
    assert!(!reader.record_event(None)?.try_is_complete()?);
    latch.open()?;
    assert_eq!(reader.clone_dtoh(&copied)?, vec![0xab; 30_000]);
    Ok(())
}

fn access_is_enabled_and_disabled_once() -> Outcome {
    let (peer, context) = (CudaContext::new(1)?, CudaContext::new(0)?);
    context.bind_to_thread()?;
    let mut answers = Vec::new();
    // SAFETY: both contexts are alive, and nothing uses the access.
    unsafe {
        answers.push(sys::cuCtxEnablePeerAccess(peer.cu_ctx(), 0));
        answers.push(sys::cuCtxEnablePeerAccess(peer.cu_ctx(), 0));
        answers.push(sys::cuCtxDisablePeerAccess(peer.cu_ctx()));
        answers.push(sys::cuCtxDisablePeerAccess(peer.cu_ctx()));
    }
    let expected = [
        sys::CUresult::CUDA_SUCCESS,
        sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
        sys::CUresult::CUDA_SUCCESS,
        sys::CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
    ];
    assert_eq!(answers, expected);
    Ok(())
}
