//! Code images that are read without a machine.

use warploom_sim::topology::Topology;
use warploom_sim::{CodeImage, CodeImageKind};

/// The format of an image, its kernels' origins, and the reasons for parts that are unusable.
fn read(bytes: &[u8]) -> (CodeImageKind, Vec<Option<u32>>, Vec<String>) {
    let image = CodeImage::read(bytes).expect("it is an image");
    assert!(image.texts().all(|part| part.text.contains(".visible .entry increment")), "{image:?}");
    (image.kind(), image.texts().map(|part| part.cubin).collect(), image.unusable().map(str::to_owned).collect())
}

#[test]
fn texts_are_found_in_every_container() {
    let text = include_bytes!("images/increment.ptx");
    assert_eq!(read(text), (CodeImageKind::Ptx, vec![None], vec![]));
    assert_eq!(read(include_bytes!("images/lineinfo.cubin")), (CodeImageKind::Cubin, vec![Some(90)], vec![]));
    for fatbin in [&include_bytes!("images/plain.fatbin")[..], include_bytes!("images/zstd.fatbin")] {
        let (kind, origins, _) = read(fatbin);
        assert!(kind == CodeImageKind::Fatbin && origins.contains(&None), "{origins:?}");
    }
    let (kind, origins, reasons) = read(include_bytes!("images/plain.cubin"));
    assert_eq!((kind, origins.len()), (CodeImageKind::Cubin, 0));
    assert_eq!(reasons, ["the cubin has no PTX in it, and a simulated device runs nothing else"]);
}

#[test]
fn fatbins_are_found_in_programs_of_the_host() {
    let fatbin = include_bytes!("images/plain.fatbin");
    let program = host_program(fatbin);
    let (kind, origins, _) = read(&program);
    assert_eq!((kind, origins), (CodeImageKind::HostObject, read(fatbin).1));
}

#[test]
fn a_refusal_is_that_of_the_device() {
    let (h200, a100) = (Topology::preset("h200").expect("it is"), Topology::preset("hgx-a100-4").expect("it is"));
    let cubin = CodeImage::read(include_bytes!("images/lineinfo.cubin")).expect("it is an image");
    assert_eq!(cubin.refusal(&h200, 0), None);
    let refusal = cubin.refusal(&a100, 3).expect("an A100 runs no code for sm_90");
    assert_eq!(refusal.to_string(), "CUDA_ERROR_NO_BINARY_FOR_GPU (209): the cubin is for sm_90; the device is sm_80");
    let text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry k() { wgmma.fence.sync.aligned; ret; }";
    let refusal = CodeImage::read(text.as_bytes()).expect("it is PTX").refusal(&a100, 0).expect("it is not simulated");
    assert!(refusal.reason.contains("`wgmma.fence.sync.aligned` cannot be run"), "{refusal}");
}

#[test]
fn other_bytes_are_refused() {
    for (bytes, reason) in [
        (&b""[..], "neither PTX, which has a line `.version`, nor a cubin, nor a fatbin"),
        (b"\x7fELF", "the ELF file is neither a cubin of 64 bits nor a host program with fatbins in it"),
        (&include_bytes!("images/plain.fatbin")[..40], "the fatbin is damaged or cut short"),
    ] {
        assert_eq!(CodeImage::read(bytes).map(drop).map_err(|refusal| refusal.reason), Err(reason.to_owned()));
    }
}

/// An x86-64 ELF file with one section, `.nv_fatbin`.
fn host_program(fatbin: &[u8]) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.shstrtab\0.nv_fatbin\0";
    let names = 64 + fatbin.len();
    let sections = (names + NAMES.len()).next_multiple_of(8);
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend([2_u16.to_le_bytes(), 62_u16.to_le_bytes()].concat());
    file.extend(1_u32.to_le_bytes());
    file.extend([[0; 8], [0; 8], (sections as u64).to_le_bytes()].concat());
    file.extend([0; 4]);
    for number in [64_u16, 0, 0, 64, 3, 1] {
        file.extend(number.to_le_bytes());
    }
    file.extend(fatbin);
    file.extend(NAMES);
    file.resize(sections, 0);
    for (name, kind, start, length) in [(0, 0, 0, 0), (1_u32, 3_u32, names, NAMES.len()), (11, 1, 64, fatbin.len())] {
        file.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
        file.extend([0; 16]);
        file.extend([(start as u64).to_le_bytes(), (length as u64).to_le_bytes(), [0; 8]].concat());
        file.extend([1_u64.to_le_bytes(), [0; 8]].concat());
    }
    file
}
