//! Addition, subtraction and multiplication with carry: `add.cc`, `addc`, `subc`, `madc`.

/// A result and the carry, or borrow, out of it.
pub(crate) type Carried<T> = (T, bool);

macro_rules! carried {
    ($($module:ident, $type:ty;)*) => {$(
        pub(crate) mod $module {
            use super::Carried;

            #[inline(always)]
            pub(crate) fn add(a: $type, b: $type, carry: bool) -> Carried<$type> {
                let (sum, first) = a.overflowing_add(b);
                let (sum, second) = sum.overflowing_add(<$type>::from(carry));
                (sum, first | second)
            }

            /// With the borrow into it and the borrow out of it.
            #[inline(always)]
            pub(crate) fn subtract(a: $type, b: $type, borrow: bool) -> Carried<$type> {
                let (difference, first) = a.overflowing_sub(b);
                let (difference, second) = difference.overflowing_sub(<$type>::from(borrow));
                (difference, first | second)
            }
        }
    )*};
}

carried! {
    single, u32;
    double, u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_registers_are_long_integers() {
        let (a, b) = (0xffff_ffff_ffff_ffff_0000_0001_8000_0000u128, 0x1_8000_0000_8000_0000u128);
        let part = |value: u128, index: u32| (value >> (32 * index)) as u32;
        let (mut sum, mut carry) = (0u128, false);
        let (mut difference, mut borrow) = (0u128, false);
        for index in 0..4 {
            let (word, out) = single::add(part(a, index), part(b, index), carry);
            (sum, carry) = (sum | u128::from(word) << (32 * index), out);
            let (word, out) = single::subtract(part(b, index), part(a, index), borrow);
            (difference, borrow) = (difference | u128::from(word) << (32 * index), out);
        }
        assert_eq!((sum, carry), a.overflowing_add(b));
        assert_eq!((difference, borrow), b.overflowing_sub(a));
        assert_eq!(double::add(u64::MAX, 0, true), (0, true));
        assert_eq!(double::subtract(0, u64::MAX, true), (0, true));
    }
}
