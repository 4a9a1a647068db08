//! The tests that the attribute makes of a function.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, FnArg, ItemFn, ReturnType, Type};

use crate::arguments::{Arguments, Setting, Value};

/// The tests for a function.
pub(crate) fn of(arguments: &Arguments, function: &ItemFn) -> Result<TokenStream, Error> {
    let parameters = parameters(function)?;
    check(arguments, function, &parameters)?;
    let Attributes { of_test, of_all, .. } = Attributes::of(function)?;
    let name = &function.sig.ident;
    let inner = body(function)?;
    if arguments.hardware.is_none() {
        let case = case(arguments, &name.to_string(), name.span());
        let run = run(arguments, function, &parameters, &quote!(#name), false);
        return Ok(quote_spanned! { name.span() =>
            #(#of_all)*
            #(#of_test)*
            #[::core::prelude::v1::test]
            fn #name() {
                #inner
                #case #run;
            }
        });
    }
    // A function and a module may have the same name, and so the function sees the names around it.
    let reached = quote!(super::#name);
    let (sim, cuda) = (case(arguments, "sim", name.span()), case(arguments, "cuda", name.span()));
    let on_sim = run(arguments, function, &parameters, &reached, false);
    let on_cuda = run(arguments, function, &parameters, &reached, true);
    let of_cuda = of_test.iter().filter(|attribute| !attribute.path().is_ident("ignore"));
    Ok(quote_spanned! { name.span() =>
        #(#of_all)*
        #[cfg(test)]
        #inner

        #(#of_all)*
        #[cfg(test)]
        mod #name {
            #(#of_test)*
            #[::core::prelude::v1::test]
            fn sim() {
                #sim #on_sim;
            }

            #(#of_cuda)*
            #[::core::prelude::v1::test]
            #[ignore = "needs an NVIDIA GPU and its driver"]
            fn cuda() {
                #cuda #on_cuda;
            }
        }
    })
}

/// The types of the parameters: the driver, or a machine and the driver.
fn parameters(function: &ItemFn) -> Result<Vec<Type>, Error> {
    let form = "a test takes a driver, as in `fn name(driver: &warploom::Driver)`, or a machine and a driver";
    let mut types = Vec::new();
    for input in &function.sig.inputs {
        match input {
            FnArg::Typed(parameter) if matches!(*parameter.ty, Type::Reference(_)) => {
                types.push((*parameter.ty).clone());
            }
            other => return Err(Error::new(other.span(), form)),
        }
    }
    match types.len() {
        1 | 2 => Ok(types),
        0 => Err(Error::new(function.sig.ident.span(), form)),
        _ => Err(Error::new(function.sig.inputs.span(), form)),
    }
}

/// Combinations that make no sense.
fn check(arguments: &Arguments, function: &ItemFn, parameters: &[Type]) -> Result<(), Error> {
    let signature = &function.sig;
    if let Some(parameter) = signature.generics.params.first() {
        return Err(Error::new(parameter.span(), "a test has no generic parameters"));
    }
    if let Some(keyword) = signature.unsafety {
        return Err(Error::new(keyword.span(), "a test is a safe function; put `unsafe` blocks into its body"));
    }
    if let (Some(place), 2) = (arguments.hardware, parameters.len()) {
        return Err(Error::new(place, "a test that takes a machine cannot run on hardware, which has none"));
    }
    if let (Some(place), ReturnType::Default) = (arguments.sweep, &signature.output) {
        let problem = "a sweep needs a test that returns `Result`: it must return an error where a driver call fails";
        return Err(Error::new(place, problem));
    }
    Ok(())
}

/// The attributes of a function, by the functions that get them.
struct Attributes<'a> {
    /// Those of the test alone.
    of_test: Vec<&'a Attribute>,
    /// Those of the test and of the function with the body.
    of_all: Vec<&'a Attribute>,
    /// Those of the function with the body.
    of_body: Vec<&'a Attribute>,
}

impl Attributes<'_> {
    fn of(function: &ItemFn) -> Result<Attributes<'_>, Error> {
        let mut sorted = Attributes { of_test: Vec::new(), of_all: Vec::new(), of_body: Vec::new() };
        for attribute in &function.attrs {
            let path = attribute.path();
            if path.is_ident("test") {
                return Err(Error::new(attribute.span(), "`warploom_test::test` makes a test already; remove this"));
            }
            if path.is_ident("should_panic") || path.is_ident("ignore") || path.is_ident("doc") {
                sorted.of_test.push(attribute);
            } else if path.is_ident("cfg") {
                sorted.of_all.push(attribute);
            } else {
                sorted.of_body.push(attribute);
            }
        }
        Ok(sorted)
    }
}

/// The function as it was written, with the attributes that are not the test's.
fn body(function: &ItemFn) -> Result<TokenStream, Error> {
    let Attributes { of_body, .. } = Attributes::of(function)?;
    let ItemFn { sig, block, .. } = function;
    Ok(quote! {
        #(#of_body)*
        #sig #block
    })
}

/// An expression for the case.
fn case(arguments: &Arguments, name: &str, span: Span) -> TokenStream {
    let krate = krate(arguments);
    let begin = match &arguments.case {
        Some(case) => quote!((#case)),
        None => quote_spanned!(span => #krate::Case::new()),
    };
    let settings = arguments.settings.iter().map(|Setting { method, value }| {
        let method = Ident::new(method, span);
        match value {
            Value::Plain(tokens) => quote_spanned!(span => .#method(#tokens)),
            Value::Named(path) => quote_spanned!(span => .#method(#krate::#path)),
        }
    });
    // The path that the test runner knows has no crate in front.
    quote_spanned! { span =>
        #begin #(#settings)* .name(
            ::core::concat!(::core::module_path!(), "::", #name).split_once("::").map_or(#name, |(_, path)| path)
        )
    }
}

/// The call that runs the case.
fn run(
    arguments: &Arguments,
    function: &ItemFn,
    parameters: &[Type],
    name: &TokenStream,
    on_hardware: bool,
) -> TokenStream {
    let krate = krate(arguments);
    let method = match (on_hardware, parameters.len()) {
        (true, _) => "run_on_hardware",
        (false, 1) => "run",
        (false, _) => "run_with_machine",
    };
    let span = function.sig.ident.span();
    let method = Ident::new(method, span);
    if function.sig.asyncness.is_none() {
        return quote_spanned!(span => .#method(#name));
    }
    let names: Vec<Ident> =
        ["machine", "driver"][2 - parameters.len()..].iter().map(|name| Ident::new(name, Span::mixed_site())).collect();
    quote_spanned!(span => .#method(|#(#names: &_),*| #krate::block_on(#name(#(#names),*))))
}

fn krate(arguments: &Arguments) -> TokenStream {
    arguments.krate.as_ref().map_or_else(|| quote!(::warploom_test), |path| quote!(#path))
}
