//! The derive macro of `warploom::DeviceCopy`; use it through that crate.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Error, Fields, Path, parse_macro_input, parse_quote};

/// Implements `DeviceCopy` for a struct with a layout that is the same everywhere, all of whose fields are
/// `DeviceCopy`.
///
/// The code that it writes names the crate `::warploom`. Where that has another name, or is only reached
/// through another crate, `#[device_copy(crate = path)]` names it.
#[proc_macro_derive(DeviceCopy, attributes(device_copy))]
pub fn derive_device_copy(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    device_copy(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn device_copy(input: &DeriveInput) -> Result<TokenStream, Error> {
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(data) => {
            let message = "not every number is a variant, and a device may have written any; use an integer";
            return Err(Error::new(data.enum_token.span(), message));
        }
        Data::Union(data) => {
            return Err(Error::new(
                data.union_token.span(),
                "a union cannot be derived for; implement `DeviceCopy` yourself",
            ));
        }
    };
    has_stable_layout(input)?;
    let (name, warploom) = (&input.ident, crate_path(input)?);
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#warploom::DeviceCopy));
    }
    let checks = fields.iter().map(|field| {
        let kind = &field.ty;
        quote_spanned!(kind.span() => is_device_copy::<#kind>();)
    });
    let kinds: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let (implementation, types, clause) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: the layout is C's or that of the one field, and any bytes are values of every field, which
        // is checked below.
        unsafe impl #implementation #warploom::DeviceCopy for #name #types #clause {
            // Only the trait itself is what it says: a program may have a crate `core` of its own.
            const HAS_PADDING: bool = <Self as #warploom::DeviceCopy>::SIZE_OF
                != 0 #(+ <#kinds as #warploom::DeviceCopy>::SIZE_OF)*
                #(|| <#kinds as #warploom::DeviceCopy>::HAS_PADDING)*;
        }

        const _: () = {
            const fn is_device_copy<T: #warploom::DeviceCopy>() {}
            #[expect(dead_code, reason = "only compiled, so that a field of another kind is an error")]
            const fn check #implementation () #clause {
                #(#checks)*
            }
        };
    })
}

/// The path of the crate: `::warploom`, or the one of `#[device_copy(crate = path)]`.
fn crate_path(input: &DeriveInput) -> Result<Path, Error> {
    let mut path = parse_quote!(::warploom);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("device_copy")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("the only setting is `crate = path`"));
            }
            path = meta.value()?.call(Path::parse_mod_style)?;
            Ok(())
        })?;
    }
    Ok(path)
}

/// Rust may lay a struct out as it likes unless it is told otherwise, and then a device would not know how.
fn has_stable_layout(input: &DeriveInput) -> Result<(), Error> {
    let mut found = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            // Such as the number in `align(16)`.
            if meta.input.peek(syn::token::Paren) {
                let inside;
                syn::parenthesized!(inside in meta.input);
                inside.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    let is_unit = matches!(&input.data, Data::Struct(data) if matches!(data.fields, Fields::Unit));
    if found || is_unit {
        return Ok(());
    }
    Err(Error::new(input.ident.span(), "add `#[repr(C)]` or `#[repr(transparent)]`: a device has to know the layout"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(input: &DeriveInput) -> String {
        device_copy(input).map_or_else(|error| error.to_string(), |tokens| tokens.to_string())
    }

    #[test]
    fn the_crate_is_named_as_the_attribute_says() {
        let renamed = expanded(&parse_quote! {
            #[repr(C)]
            #[device_copy(crate = ::engine::gpu)]
            struct Pair<T> { first: T, second: u32 }
        });
        assert!(renamed.contains(":: engine :: gpu :: DeviceCopy") && !renamed.contains("warploom"), "{renamed}");
        let named = expanded(&parse_quote! { #[repr(C)] struct One { value: u32 } });
        assert!(named.contains(":: warploom :: DeviceCopy"), "{named}");
    }

    #[test]
    fn other_settings_are_refused() {
        let refused = expanded(&parse_quote! { #[repr(C)] #[device_copy(name = x)] struct One { value: u32 } });
        assert_eq!(refused, "the only setting is `crate = path`");
    }
}
