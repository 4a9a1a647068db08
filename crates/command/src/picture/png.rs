//! PNG files: deflated rows, each behind the filter that leaves the smallest differences.

use miniz_oxide::deflate::compress_to_vec_zlib;

use super::{Channels, Picture};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The level of compression with the smallest files.
const LEVEL: u8 = 9;
/// The filters that are tried: none, the difference to the pixel on the left, and to the one above.
const FILTERS: [u8; 3] = [0, 1, 2];

/// The bytes of a file with eight bits per channel.
pub(super) fn encode(picture: &Picture) -> Vec<u8> {
    let colour = match picture.channels {
        Channels::Grey => 0,
        Channels::Rgb => 2,
        Channels::Rgba => 6,
    };
    let mut header = [picture.width.to_be_bytes(), picture.height.to_be_bytes()].concat();
    header.extend([8, colour, 0, 0, 0]);
    let mut file = SIGNATURE.to_vec();
    chunk(&mut file, b"IHDR", &header);
    chunk(&mut file, b"IDAT", &compress_to_vec_zlib(&filtered(picture), LEVEL));
    chunk(&mut file, b"IEND", &[]);
    file
}

/// All rows, each with the number of its filter in front.
fn filtered(picture: &Picture) -> Vec<u8> {
    let pixel = picture.channels.count();
    let mut all = Vec::with_capacity(picture.bytes.len() + picture.height as usize);
    let mut above: Option<&[u8]> = None;
    for row in picture.rows() {
        let difference = |filter: u8, at: usize| {
            let other = match filter {
                1 => at.checked_sub(pixel).map_or(0, |left| row[left]),
                2 => above.map_or(0, |above| above[at]),
                _ => 0,
            };
            row[at].wrapping_sub(other)
        };
        // As a signed number, the smaller the better it packs.
        let weight = |filter: &u8| -> u64 {
            (0..row.len()).map(|at| u64::from(difference(*filter, at).cast_signed().unsigned_abs())).sum()
        };
        let filter = FILTERS.into_iter().min_by_key(weight).unwrap_or_default();
        all.push(filter);
        all.extend((0..row.len()).map(|at| difference(filter, at)));
        above = Some(row);
    }
    all
}

/// Length, kind, content, and the checksum of the two.
fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    file.extend((content.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend_from_slice(kind);
    file.extend_from_slice(content);
    file.extend(checksum(&file[start..]).to_be_bytes());
}

/// The CRC-32 of ISO 3309, bit by bit: files are small.
fn checksum(bytes: &[u8]) -> u32 {
    let mut register = u32::MAX;
    for byte in bytes {
        register ^= u32::from(*byte);
        for _ in 0..8 {
            register = register >> 1 ^ (0xedb8_8320 & (register & 1).wrapping_neg());
        }
    }
    !register
}

#[cfg(test)]
mod tests {
    use miniz_oxide::inflate::decompress_to_vec_zlib;

    use super::*;

    /// The chunks of a file, with their checksums checked.
    fn chunks(file: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut rest = file.strip_prefix(SIGNATURE).expect("a PNG begins with its signature");
        let mut all = Vec::new();
        while !rest.is_empty() {
            let length = u32::from_be_bytes(rest[..4].try_into().expect("four bytes")) as usize;
            let (kind, content) = (&rest[4..8], &rest[8..8 + length]);
            assert_eq!(checksum(&rest[4..8 + length]).to_be_bytes(), rest[8 + length..12 + length]);
            all.push((String::from_utf8_lossy(kind).into_owned(), content.to_vec()));
            rest = &rest[12 + length..];
        }
        all
    }

    /// The pixels of rows with filters, as a reader computes them.
    fn unfiltered(rows: &[u8], width: usize, pixel: usize) -> Vec<u8> {
        let mut pixels: Vec<u8> = Vec::new();
        for row in rows.chunks(width * pixel + 1) {
            for (at, byte) in row[1..].iter().enumerate() {
                let left = if at >= pixel { pixels[pixels.len() - pixel] } else { 0 };
                let above = pixels.len().checked_sub(width * pixel).map_or(0, |above| pixels[above]);
                pixels.push(byte.wrapping_add([0, left, above][usize::from(row[0])]));
            }
        }
        pixels
    }

    #[test]
    fn a_reader_gets_the_pixels_back() {
        for (channels, colour) in [(Channels::Grey, 0), (Channels::Rgb, 2), (Channels::Rgba, 6)] {
            let (width, height, pixel) = (23, 17, channels.count());
            let bytes: Vec<u8> =
                (0..width * height * pixel).map(|at| ((at * at) % 251 + at / (width * pixel)) as u8).collect();
            let file = encode(&Picture::new(width, height, channels, bytes.clone()).expect("as many bytes"));
            let chunks = chunks(&file);
            let kinds: Vec<&str> = chunks.iter().map(|(kind, _)| kind.as_str()).collect();
            assert_eq!(kinds, ["IHDR", "IDAT", "IEND"]);
            assert_eq!(chunks[0].1, [0, 0, 0, 23, 0, 0, 0, 17, 8, colour, 0, 0, 0]);
            let rows = decompress_to_vec_zlib(&chunks[1].1).expect("a zlib stream");
            assert_eq!(unfiltered(&rows, width, pixel), bytes);
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn smooth_rows_are_filtered() {
        let bytes: Vec<u8> = (0..64).map(|at| at * 3).collect();
        let rows = filtered(&Picture::new(64, 1, Channels::Grey, bytes).expect("as many bytes"));
        assert_eq!((rows[0], &rows[2..5]), (1, &[3, 3, 3][..]));
    }
}
