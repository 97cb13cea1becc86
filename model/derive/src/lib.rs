//! What a specification says once: `#[derive(RuleDocs)]` for the rules of a protocol, as
//! `bellwether_engine::protocol` has it, attributes for its types, and the table of its durations.
//!
//! The rules are the fields of one struct, and most of their values are those of enums. What a
//! field decides and what a value means is in their documentation: the first paragraph, without
//! its last full stop. The macro makes a table of it, and no code.

use proc_macro::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Ident, Lit, LitInt, LitStr, Result,
    Token, Variant, Visibility,
};

/// Derives `RuleDocs` for a struct, whose fields are rules, or `RuleValues` for an enum, whose
/// variants are values.
///
/// The values of a field are those of its type, unless `#[rule(values = "...")]` says in words what
/// they are. A value is called as serde calls it with `rename_all = "kebab-case"`. A rule that only
/// the whole group has is `#[rule(of_all)]`.
#[proc_macro_derive(RuleDocs, attributes(rule))]
pub fn rules(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    implementation(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Derives for the struct of a protocol's rules, or for the enum of a rule's values, what a
/// protocol asks of it, and `RuleDocs`. Rules that are not known are refused.
#[proc_macro_attribute]
pub fn rule_type(_: TokenStream, item: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(item as DeriveInput);
    let strict =
        matches!(input.data, Data::Struct(_)).then(|| quote!(#[serde(deny_unknown_fields)]));
    let besides = quote!(::serde::Deserialize, ::bellwether_engine::protocol::RuleDocs);
    derived(&input, false, &besides, &strict.unwrap_or_default())
}

/// Derives what a protocol asks of a process's state, and of all that is a part of it.
#[proc_macro_attribute]
pub fn state_type(_: TokenStream, item: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(item as DeriveInput);
    let default = matches!(input.data, Data::Struct(_));
    derived(&input, default, &quote!(), &quote!())
}

/// Derives what a protocol asks of its messages and timers, and of all that they carry.
#[proc_macro_attribute]
pub fn event_type(_: TokenStream, item: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(item as DeriveInput);
    derived(&input, false, &quote!(PartialOrd, Ord, ::serde::Deserialize), &quote!())
}

/// The type with all that is derived: the same for each type of a specification, and these. An enum
/// has a default if it names one, and serde writes its variants in kebab case.
fn derived(
    input: &DeriveInput,
    default: bool,
    besides: &proc_macro2::TokenStream,
    attributes: &proc_macro2::TokenStream,
) -> TokenStream {
    let (default, case) = match &input.data {
        Data::Enum(of) => {
            let named = |attribute: &Attribute| attribute.path().is_ident("default");
            let default = of.variants.iter().any(|variant| variant.attrs.iter().any(named));
            (default, quote!(#[serde(rename_all = "kebab-case")]))
        }
        _ => (default, quote!()),
    };
    let default = default.then(|| quote!(#[derive(Default)]));
    quote! {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ::serde::Serialize, #besides)]
        #default
        #case
        #attributes
        #input
    }
    .into()
}

/// Makes a `static` of each duration of a protocol's timers, in the order in which the smallest that
/// are enough are looked for: `T_NAME: "its meaning", ENOUGH;`, without the last where that was not
/// looked for.
#[proc_macro]
pub fn duration_table(rows: TokenStream) -> TokenStream {
    let rows = syn::parse_macro_input!(
        rows with Punctuated::<DurationRow, Token![;]>::parse_terminated
    );
    let statics = rows.iter().zip(0_u8..).map(|(row, order)| {
        let DurationRow { visibility, ident, meaning, enough } = row;
        let name = ident.to_string().to_lowercase().replace('_', "-");
        let enough = match enough {
            Some(ticks) => quote!(::core::option::Option::Some(#ticks)),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            #visibility static #ident: ::bellwether_engine::protocol::Duration =
                ::bellwether_engine::protocol::Duration {
                    name: #name,
                    meaning: #meaning,
                    order: #order,
                    enough: #enough,
                };
        }
    });
    quote!(#(#statics)*).into()
}

/// One row of the table of durations.
struct DurationRow {
    visibility: Visibility,
    ident: Ident,
    meaning: LitStr,
    enough: Option<LitInt>,
}

impl Parse for DurationRow {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (visibility, ident) = (input.parse()?, input.parse()?);
        input.parse::<Token![:]>()?;
        let meaning = input.parse()?;
        let enough = match input.parse::<Option<Token![,]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        Ok(DurationRow { visibility, ident, meaning, enough })
    }
}

fn implementation(input: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    let name = &input.ident;
    match &input.data {
        Data::Struct(of) => {
            let rules = of.fields.iter().map(rule).collect::<Result<Vec<_>>>()?;
            let rows = rules.iter().map(|(row, _)| row);
            let own = rules.iter().filter_map(|(_, own)| own.as_ref());
            Ok(quote! {
                impl ::bellwether_engine::protocol::RuleDocs for #name {
                    const ROWS: &'static [::bellwether_engine::protocol::RuleRow] = &[#(#rows),*];
                    const OWN: &'static [&'static str] = &[#(#own),*];
                }
            })
        }
        Data::Enum(of) => {
            let values = of.variants.iter().map(value).collect::<Result<Vec<_>>>()?;
            Ok(quote! {
                impl ::bellwether_engine::protocol::RuleValues for #name {
                    const VALUES: ::bellwether_engine::protocol::ValuesRow =
                        ::bellwether_engine::protocol::ValuesRow::Names(&[#(#values),*]);
                }
            })
        }
        Data::Union(_) => {
            Err(Error::new(name.span(), "rules are a struct, and their values enums"))
        }
    }
}

/// Returns a field as a row of the table, and its name if each process may have its own value.
fn rule(field: &Field) -> Result<(proc_macro2::TokenStream, Option<String>)> {
    let Some(name) = &field.ident else {
        return Err(Error::new(field.span(), "a rule needs a name"));
    };
    let (name, meaning, of) = (name.to_string(), meaning(&field.attrs), &field.ty);
    let (words, of_all) = said(&field.attrs)?;
    let values = match words {
        Some(words) => quote!(::bellwether_engine::protocol::ValuesRow::Other(#words)),
        None => quote!(<#of as ::bellwether_engine::protocol::RuleValues>::VALUES),
    };
    let row = quote! {
        ::bellwether_engine::protocol::RuleRow { name: #name, meaning: #meaning, values: #values }
    };
    Ok((row, (!of_all).then_some(name)))
}

/// One variant as a name and its meaning.
fn value(variant: &Variant) -> Result<proc_macro2::TokenStream> {
    if !variant.fields.is_empty() {
        return Err(Error::new(variant.span(), "the value of a rule is a name"));
    }
    let (name, meaning) = (kebab(&variant.ident.to_string()), meaning(&variant.attrs));
    Ok(quote!((#name, #meaning)))
}

/// Reads what `#[rule(values = "...")]` says, and whether there is `#[rule(of_all)]`.
fn said(attributes: &[Attribute]) -> Result<(Option<LitStr>, bool)> {
    let (mut words, mut of_all) = (None, false);
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("rule")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("of_all") {
                of_all = true;
            } else if meta.path.is_ident("values") {
                words = Some(meta.value()?.parse()?);
            } else {
                return Err(meta.error("a rule is `of_all`, or has `values = \"...\"`"));
            }
            Ok(())
        })?;
    }
    Ok((words, of_all))
}

/// The first paragraph of the documentation, in one line, without marks and its last full stop.
fn meaning(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let lines =
        lines.filter_map(|attribute| match &attribute.meta.require_name_value().ok()?.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
            _ => None,
        });
    let lines = lines.skip_while(String::is_empty).take_while(|line| !line.is_empty());
    let meaning = lines.collect::<Vec<_>>().join(" ").replace('`', "");
    match meaning.strip_suffix('.') {
        Some(rest) if !rest.ends_with('.') => rest.to_owned(),
        _ => meaning,
    }
}

/// The name of a variant as serde writes it in kebab case.
fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}
