//! Single and double precision, bit for bit.

use crate::variant::{Variant, all};

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    list.extend(all("{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "b32", "f32 f32"));
    list.extend(all("{fma,mad}{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "b32", "f32 f32 f32"));
    list.extend(all("div{.rn,.rz,.rm,.rp}{,.ftz}.f32", "b32", "f32 f32"));
    list.extend(all("{rcp,sqrt}{.rn,.rz,.rm,.rp}{,.ftz}.f32", "b32", "f32"));
    list.extend(all("{abs,neg}{,.ftz}.f32", "b32", "f32"));
    list.extend(all("{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32", "b32", "f32 f32"));
    list.extend(all("copysign.f32", "b32", "f32 f32"));
    list.extend(all("testp.{finite,infinite,number,notanumber,normal,subnormal}.f32", "pred", "f32"));
    list.extend(all("{add,sub,mul}{,.rn,.rz,.rm,.rp}.f64", "b64", "f64 f64"));
    list.extend(all("{fma,mad}{.rn,.rz,.rm,.rp}.f64", "b64", "f64 f64 f64"));
    list.extend(all("div{.rn,.rz,.rm,.rp}.f64", "b64", "f64 f64"));
    list.extend(all("{rcp,sqrt}{.rn,.rz,.rm,.rp}.f64", "b64", "f64"));
    list.extend(all("{abs,neg}.f64", "b64", "f64"));
    list.extend(all("{min,max}.f64", "b64", "f64 f64"));
    list.extend(all("copysign.f64", "b64", "f64 f64"));
    list.extend(all("testp.{finite,infinite,number,notanumber,normal,subnormal}.f64", "pred", "f64"));
    list.into_iter().map(|variant| variant.cases(256)).collect()
}
