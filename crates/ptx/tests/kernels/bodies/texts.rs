//! The texts that NVRTC makes of our kernels, in the binary: where it runs there may be no sources.

macro_rules! texts {
    ($($folder:ident { $($file:tt)* })*) => {
        /// Every text, by the end of its path: `compute_75/vector`.
        pub(crate) const TEXTS: &[(&str, &str)] = &[$($((
            concat!(stringify!($folder), "/", stringify!($file)),
            include_str!(concat!("../../../kernels/ptx/", stringify!($folder), "/", stringify!($file), ".ptx")),
        ),)*)*];
    };
}
texts! {
    compute_75 {
        atomics bits bounds calls conditions convert cooperative debug fragments half histogram ieee jump libm32 libm64
        lineinfo mandelbrot matmul memory nbody primitives reduce scan softmax stencil system tensor textures time transpose vector warp
    }
    compute_80 {
        async bfloat fragments80 groups redux standard tensor80
    }
    compute_90 {
        async90 atomics bfloat bulk clusters cooperative groups half libm32 standard
    }
}

/// A text by the end of its path.
pub(crate) fn text(name: &str) -> &'static str {
    let found = TEXTS.iter().find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("there is no {name}")).1
}

/// The texts of one source: `compute_75/atomics` and `compute_90/atomics`.
pub(crate) fn texts_of(file: &str) -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(name, _)| *name).filter(move |name| name.split_once('/').is_some_and(|(_, end)| end == file))
}

/// The text with one kernel of it, which calls nothing.
pub(crate) fn only(name: &str, kernel: &str) -> String {
    let text = text(name);
    let header = text.split_once(".visible").expect("a kernel").0;
    let start = text.find(&format!(".visible .entry {kernel}(")).expect("the kernel");
    let body = text[start..].split_once("\n}").expect("its end").0;
    format!("{header}{body}\n}}")
}
