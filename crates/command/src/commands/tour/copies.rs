//! Copies from and to page-locked and registered memory, of rows and of volumes, and many at a time.

use warploom::{Driver, PinnedMemory, VolumeShape, copy_batch};

use super::{StepResult, first_device, noise};
use crate::report::{Check, Findings};

const PITCH: usize = 512;
const WIDTH: usize = 480;
const HEIGHT: usize = 256;
const PARTS: usize = 16;

pub(super) fn visit(driver: &Driver) -> StepResult {
    let (stream, pool) = first_device(driver)?;
    let sent = noise(PITCH * HEIGHT);
    let mut picture = pool.allocate::<u8>(sent.len(), &stream)?;

    let pinned = PinnedMemory::new(pool.context()).buffer_of(&sent)?;
    let sending = picture.as_slice_mut().copy_from_pinned(pinned, &stream)?;
    // The copy owns the pinned buffer until `wait` returns it, so the host cannot change it.
    let given_back = sending.wait()?.as_slice() == sent;

    let mut tight = pool.allocate::<u8>(WIDTH * HEIGHT, &stream)?;
    picture.rows(PITCH, WIDTH, HEIGHT)?.copy_to(tight.rows_mut(WIDTH, WIDTH, HEIGHT)?, &stream)?;
    let rows: Vec<u8> = sent.chunks_exact(PITCH).flat_map(|row| &row[..WIDTH]).copied().collect();
    let without_gaps = tight.download(&stream)? == rows;

    // The picture as planes of 16 rows: copied without the gaps, into memory of the program.
    let (mut program, planes) = (vec![0; WIDTH * HEIGHT], VolumeShape::packed(WIDTH, HEIGHT / PARTS, PARTS));
    stream.context().with_registered(&mut program, |host| {
        picture.volume(planes.with_pitch(PITCH))?.copy_to(host.volume_mut(planes)?, &stream)
    })??;
    let into_program = program == rows;

    let mut parts = (0..PARTS).map(|_| pool.allocate::<u8>(WIDTH, &stream)).collect::<warploom::Result<Vec<_>>>()?;
    let calls = driver.count_calls();
    copy_batch(tight.as_slice().chunks(WIDTH)?.zip(&mut parts), &stream)?;
    let batch_calls: u64 = calls
        .by_function()
        .iter()
        .filter(|(function, _)| function.name().contains("Memcpy"))
        .map(|(_, count)| count)
        .sum();
    drop(calls);
    let mut all_there = true;
    for (part, row) in parts.iter().zip(rows.chunks_exact(WIDTH)) {
        all_there &= part.download(&stream)? == row;
    }
    let checks = vec![
        Check::new("a copy took page-locked memory along and gave it back", given_back),
        Check::new("rows were copied, and the gaps between them were not", without_gaps),
        Check::new("a volume was copied into registered memory of the program", into_program),
        Check::new("every copy of the batch arrived", all_there),
    ];
    let (width, height, pitch) = (WIDTH, HEIGHT, PITCH);
    Ok((Findings::Copies { pinned_bytes: sent.len(), width, height, pitch, batch: PARTS, batch_calls }, checks))
}
