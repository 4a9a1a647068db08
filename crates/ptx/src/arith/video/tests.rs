//! Tests of video instructions.

use super::*;

#[test]
fn instructions_are_packed_without_loss() {
    let part = |name| Part::named(name).expect("a part");
    let scalar = Scalar {
        first: First::GreaterEqual,
        signed: [true, false, true],
        saturate: true,
        wrap: false,
        second: Second::Maximum,
        from: [part("b3"), part("h1")],
        into: Part::WORD,
    };
    let lanes = Lanes {
        first: First::Average,
        signed: [false, true, false],
        saturate: false,
        sum: true,
        count: 4,
        from: [[3, 2, 1, 0], [7, 6, 5, 4]],
        mask: 0b1010,
    };
    let product = Product {
        signed: [true; 3],
        from: [part("h0"), Part::WORD],
        negated: [false; 2],
        plus_one: true,
        saturate: false,
        shift: 15,
    };
    let negated =
        [[true, false], [false, true]].map(|negated| Video::Product(Product { negated, plus_one: false, ..product }));
    let all = [Video::Scalar(scalar), Video::Lanes(lanes), Video::Product(product)];
    for video in all.into_iter().chain(negated) {
        assert_eq!(Video::unpacked(video.packed()), video);
    }
}

#[test]
fn parts_are_selected_saturated_and_merged() {
    let byte = Part::named("b1").expect("a part");
    let base = Scalar {
        first: First::Add,
        signed: [true; 3],
        saturate: true,
        wrap: false,
        second: Second::None,
        from: [byte, Part::WORD],
        into: Part::WORD,
    };
    assert_eq!(base.apply(0x0000_8000, 1, 0), (-127_i32).cast_unsigned());
    assert_eq!(Scalar { into: byte, ..base }.apply(0x7f00, 5, 0x1122_3344), 0x1122_7f44);
    assert_eq!(Scalar { second: Second::Add, ..base }.apply(0x0100, 1, 10), 12);
}

/// Results of an H200 that the manual does not give.
#[test]
fn results_are_those_of_hardware() {
    let sum = Scalar {
        first: First::Add,
        signed: [false; 3],
        saturate: true,
        wrap: false,
        second: Second::None,
        from: [Part::WORD; 2],
        into: Part::WORD,
    };
    assert_eq!(sum.apply(0x44e2_4ea0, 0xfeff_ffff, 0), 0x43e2_4e9f, "an unsigned sum wraps");
    let upper = Scalar { saturate: false, into: Part::UPPER, ..sum };
    assert_eq!(upper.apply(0x02ee_f77b, 0x0b, 0x82ee_f77b), 0x02ee_f77b, "the upper half of the sum");
    let byte = Scalar { signed: [true; 3], into: Part::named("b1").expect("a part"), ..sum };
    assert_eq!(byte.apply(u32::MAX - 2, u32::MAX - 1, 0xff85_61a2), 0xff85_7fa2, "-5 exceeds a byte");
    let least = Scalar { saturate: false, second: Second::Minimum, ..sum };
    assert_eq!(least.apply(0x8dcf_efd2, 0x8000, 0xffd2_6dd4), 0xffd2_6dd4, "a sum has a sign");
    let shifted = Scalar { first: First::ShiftLeft, signed: [true, true, false], ..sum };
    assert_eq!(shifted.apply(0x10ef_ec9d, 7, 0), 0x77f6_4e80, "34 bits are kept");
    let product = Product {
        signed: [false; 3],
        from: [Part::WORD; 2],
        negated: [false; 2],
        plus_one: false,
        saturate: true,
        shift: 0,
    };
    assert_eq!(product.apply(0xffff_fff3, 0xfd00_af7e, 0x7fff_ffff), 0xa6f7_1699, "factors have a sign");
}

/// Results of an H200 for operands with a minus: the product or the third operand is negated before the sum,
/// which has a sign then.
#[test]
fn products_and_sums_are_negated_as_by_hardware() {
    let part = |name| Part::named(name).expect("a part");
    let plain = Product {
        signed: [false; 3],
        from: [Part::WORD; 2],
        negated: [true, false],
        plus_one: false,
        saturate: false,
        shift: 0,
    };
    assert_eq!(plain.apply(0x00ff_8001, 0x0000_8000, 0x7fff_ffff), 0xbfff_7fff);
    assert_eq!(plain.apply(0xfd00_af7e, 0x8000_0001, 0x00ff_8001), 0x03fe_d083);
    assert_eq!(Product { saturate: true, ..plain }.apply(0x00ff_8001, 0x0000_8000, 0x7fff_ffff), 0x8000_0000);
    assert_eq!(Product { saturate: true, ..plain }.apply(0x8000_0000, 0x7fff_ffff, 0x0000_0002), 0x7fff_ffff);
    assert_eq!(Product { shift: 7, ..plain }.apply(0x8dcf_efd2, 0xfd00_af7e, 0x0001_2345), 0x2d09_7117);
    assert_eq!(
        Product { from: [part("b1"), part("h1")], ..plain }.apply(0x8dcf_efd2, 0xfd00_af7e, 0x0001_2345),
        0xff14_f045
    );
    assert_eq!(
        Product { from: [part("b1"), part("h1")], ..plain }.apply(0x0000_7fff, 0xfd00_af7e, 0xfd00_af7e),
        0xfc83_2c7e
    );
    assert_eq!(Product { negated: [false, true], ..plain }.apply(0x00ff_8001, 0x0000_8000, 0x7fff_ffff), 0x4000_8001);
    assert_eq!(Product { negated: [false, true], ..plain }.apply(0x0000_7fff, 0xfd00_af7e, 0xfd00_af7e), 0x5dbd_a104);
    assert_eq!(
        Product { negated: [false, true], saturate: true, shift: 15, ..plain }.apply(
            0x8dcf_efd2,
            0xfd00_af7e,
            0x0001_2345
        ),
        0x7fff_ffff
    );
    assert_eq!(
        Product { negated: [false, true], saturate: true, shift: 15, ..plain }.apply(
            0x8000_0000,
            0x8000_0001,
            0x0000_8000
        ),
        0x7fff_ffff
    );
    assert_eq!(
        Product { signed: [true; 3], saturate: true, ..plain }.apply(0x0000_7fff, 0xffff_fff3, 0x8000_0000),
        0x8006_7ff3
    );
    assert_eq!(
        Product { signed: [true; 3], saturate: true, ..plain }.apply(0x0000_ffff, 0x0000_ffff, 0x0000_ffff),
        0x8000_0000
    );
    assert_eq!(
        Product { signed: [true, true, false], negated: [false, true], ..plain }.apply(
            0x0001_2345,
            0x00ff_8001,
            0x0000_8000
        ),
        0xb35e_2345
    );
}
