//! PGM and PPM files: a header in ASCII, then the bytes of the pixels.

use super::{Channels, Picture};

/// The bytes of a file: `P5` for grey values, `P6` for colours.
pub(super) fn encode(picture: &Picture) -> Vec<u8> {
    let magic = if picture.channels == Channels::Grey { "P5" } else { "P6" };
    let header = format!("{magic}\n{} {}\n255\n", picture.width, picture.height);
    [header.as_bytes(), &picture.bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_a_header_and_the_bytes() {
        let grey = Picture::new(2, 1, Channels::Grey, vec![7, 255]).expect("as many bytes");
        assert_eq!(encode(&grey), b"P5\n2 1\n255\n\x07\xff");
        let red = Picture::new(1, 1, Channels::Rgb, vec![255, 0, 0]).expect("as many bytes");
        assert_eq!(encode(&red), b"P6\n1 1\n255\n\xff\0\0");
    }
}
