//! Arguments of the attribute.

use std::path::Path;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser as _;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprArray, ExprLit, Lit, LitInt, LitStr};

/// The machines with a name. A test of `warploom-test` compares them with the presets.
const PRESETS: &[&str] = &[
    "h200",
    "dgx-h100",
    "dgx-h200",
    "hgx-a100",
    "hgx-a100-4",
    "pcie-pair",
    "pcie-t4",
    "grace-hopper",
    "gb200",
    "laptop",
    "asymmetric",
];

/// The names of all arguments, for messages.
const NAMES: &str = "machine, seeds, orders, check, leaks, faults, tolerates, hardware, case and crate";

/// The arguments, as far as they were given.
#[derive(Default)]
pub(crate) struct Arguments {
    /// The path of `warploom_test`.
    pub(crate) krate: Option<syn::Path>,
    /// The case to begin with.
    pub(crate) case: Option<Expr>,
    /// Calls of methods of `Case`.
    pub(crate) settings: Vec<Setting>,
    /// The place that asks for a sweep.
    pub(crate) sweep: Option<Span>,
    /// The place that asks for a twin on hardware.
    pub(crate) hardware: Option<Span>,
}

/// A call of a method of `Case`.
pub(crate) struct Setting {
    pub(crate) method: &'static str,
    pub(crate) value: Value,
}

/// The argument of a method of `Case`.
pub(crate) enum Value {
    /// Tokens as they are.
    Plain(TokenStream),
    /// A path below `warploom_test`.
    Named(TokenStream),
}

impl Arguments {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Arguments, Error> {
        let (mut arguments, mut seen) = (Arguments::default(), Vec::new());
        syn::meta::parser(|meta| arguments.take(&mut seen, &meta)).parse2(tokens)?;
        Ok(arguments)
    }

    fn take(&mut self, seen: &mut Vec<String>, meta: &ParseNestedMeta<'_>) -> Result<(), Error> {
        let unknown = || meta.error(format!("unknown argument; there are {NAMES}"));
        let name = meta.path.get_ident().ok_or_else(unknown)?.to_string();
        if seen.contains(&name) {
            return Err(meta.error(format!("`{name}` is given twice")));
        }
        match name.as_str() {
            "machine" => {
                let setting = machine(&meta.value()?.parse()?)?;
                self.settings.push(setting);
            }
            "seeds" => {
                let seeds = seeds(&meta.value()?.parse()?)?;
                self.set("seeds", Value::Plain(quote!(#seeds)));
            }
            "orders" => {
                let orders = [
                    ("all", quote!(Orders::All)),
                    ("threads", quote!(Orders::Threads)),
                    ("deterministic", quote!(Orders::Deterministic)),
                ];
                let order = one_of(&meta.value()?.parse()?, &orders)?;
                self.set("orders", Value::Named(order));
            }
            "check" => {
                let level = level(meta)?;
                self.set("check", level);
            }
            "leaks" => {
                let level = level(meta)?;
                self.set("leaks", level);
            }
            "faults" => self.faults(&meta.value()?.parse()?)?,
            "tolerates" => self.tolerates(meta.value()?.parse()?)?,
            "hardware" => {
                let value: Expr = meta.value()?.parse()?;
                one_of(&value, &[("ignore", TokenStream::new())])?;
                self.hardware = Some(value.span());
            }
            "case" => self.case = Some(meta.value()?.parse()?),
            "crate" => self.krate = Some(meta.value()?.call(syn::Path::parse_mod_style)?),
            _ => return Err(unknown()),
        }
        seen.push(name);
        Ok(())
    }

    fn set(&mut self, method: &'static str, value: Value) {
        self.settings.push(Setting { method, value });
    }

    fn faults(&mut self, value: &Expr) -> Result<(), Error> {
        if string(value).is_some() {
            let sweep = one_of(value, &[("sweep", quote!(Faults::Sweep))]).map_err(|_| {
                Error::new(value.span(), "use \"sweep\", or an expression that is a `fault::Plan`, without quotes")
            })?;
            self.sweep = Some(value.span());
            self.set("faults", Value::Named(sweep));
        } else {
            self.set("faults", Value::Plain(quote!(#value)));
        }
        Ok(())
    }

    fn tolerates(&mut self, value: Expr) -> Result<(), Error> {
        let calls = match value {
            Expr::Array(ExprArray { elems, .. }) => elems.into_iter().collect(),
            single => vec![single],
        };
        for call in calls {
            let text = string(&call).ok_or_else(|| {
                Error::new(call.span(), "use the name of a driver function, such as \"cuEventRecord\" or \"cuEvent*\"")
            })?;
            self.set("tolerates", Value::Plain(quote!(#text)));
        }
        Ok(())
    }
}

/// A preset, or a topology file from the package's folder.
fn machine(value: &Expr) -> Result<Setting, Error> {
    let problem = "use the name of a machine in quotes; another machine is made with `case = …`";
    let text = string(value).ok_or_else(|| Error::new(value.span(), problem))?;
    let name = text.value();
    if name.ends_with(".toml") {
        let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        if !Path::new(&folder).join(&name).is_file() {
            let problem = format!("there is no file {name:?} in the folder of the package's Cargo.toml");
            return Err(Error::new(text.span(), problem));
        }
        let path = quote!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", #text));
        return Ok(Setting { method: "topology_file", value: Value::Plain(path) });
    }
    if !PRESETS.contains(&name.as_str()) {
        let known = PRESETS.join(", ");
        let problem = format!("no machine is called {name:?}; there are {known}, or use a file that ends in .toml");
        return Err(Error::new(text.span(), problem));
    }
    Ok(Setting { method: "machine", value: Value::Plain(quote!(#text)) })
}

fn seeds(value: &Expr) -> Result<LitInt, Error> {
    let problem = "use the number of random orders, such as 8";
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) if number.base10_parse::<u64>().is_ok() => Ok(number.clone()),
        _ => Err(Error::new(value.span(), problem)),
    }
}

fn level(meta: &ParseNestedMeta<'_>) -> Result<Value, Error> {
    let levels = [("off", quote!(Level::Off)), ("report", quote!(Level::Report)), ("fail", quote!(Level::Fail))];
    one_of(&meta.value()?.parse()?, &levels).map(Value::Named)
}

fn string(value: &Expr) -> Option<LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

/// The tokens of one of several words.
fn one_of(value: &Expr, words: &[(&str, TokenStream)]) -> Result<TokenStream, Error> {
    let given = string(value).map(|text| text.value());
    let found = words.iter().find(|(word, _)| given.as_deref() == Some(*word));
    found.map(|(_, tokens)| tokens.clone()).ok_or_else(|| {
        let words: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        let allowed = match words.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        };
        Error::new(value.span(), format!("this value is not allowed; use {allowed}"))
    })
}
