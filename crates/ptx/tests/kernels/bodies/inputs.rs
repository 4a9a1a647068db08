//! Inputs of kernels, and comparison of results.

/// Numbers that look random and are the same every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ self.0 >> 29
    }

    pub(crate) fn vec<T>(&mut self, count: usize, pick: impl Fn(u64) -> T) -> Vec<T> {
        (0..count).map(|_| pick(self.next())).collect()
    }
}

/// Singles that are hard on arithmetic, and others at random.
pub(crate) fn singles(count: usize, seed: u64) -> Vec<f32> {
    let hard = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
        -1e-40,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        0.1,
    ];
    let mut random = Random(seed);
    random.vec(count, |bits| match bits % 4 {
        0 => hard[(bits >> 8) as usize % hard.len()],
        1 => f32::from_bits((bits >> 32) as u32),
        _ => f32::from_bits(((bits >> 32) as u32 & 0x807f_ffff) | (110 + (bits as u32 >> 8) % 34) << 23),
    })
}

/// The same in double precision.
pub(crate) fn doubles(count: usize, seed: u64) -> Vec<f64> {
    let hard = [0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, f64::NAN, 0.1];
    let mut random = Random(seed);
    random.vec(count, |bits| match bits % 4 {
        0 => hard[(bits >> 8) as usize % hard.len()],
        1 => f64::from_bits(bits.rotate_left(17)),
        _ => f64::from_bits((bits.rotate_left(9) & !(0x7ff << 52)) | (1000 + (bits >> 8) % 46) << 52),
    })
}

/// Equal, where one NaN is like another and zeros have signs.
pub(crate) fn same_single(found: f32, expected: f32) -> bool {
    found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan())
}

pub(crate) fn same_double(found: f64, expected: f64) -> bool {
    found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan())
}
