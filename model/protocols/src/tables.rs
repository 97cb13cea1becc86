//! The tables of a specification: its variants, and the properties that are asked of it alone.

/// Makes the table of a protocol's variants: `"name": "source" => BASE { changed: value };`, where
/// the base is a constant of the type of rules, and what follows are the rules that differ from it.
macro_rules! variant_table {
    ($rules:ident: $($name:literal: $source:literal => $base:ident $({ $($changed:tt)+ })?;)+) => {
        &[$(bellwether_engine::protocol::Variant {
            name: $name,
            source: $source,
            rules: $rules { $($($changed)+,)? ..$rules::$base },
        }),+]
    };
}

/// Makes the table of a protocol's properties: the name of each, its formula, its meaning, its
/// premise if it has one, and the temporal operator around its conditions. A property that is
/// `asked` is checked only if it is named. Properties that protocols share come first, after `use`.
macro_rules! property_table {
    (@by_default) => { true };
    (@by_default asked) => { false };
    (@temporal Always $holds:expr) => { bellwether_engine::temporal::Temporal::Always($holds) };
    (@temporal Reachable $holds:expr) => {
        bellwether_engine::temporal::Temporal::Reachable($holds)
    };
    (@temporal $operator:ident $($holds:expr),+) => {
        bellwether_engine::temporal::Temporal::Liveness(
            bellwether_engine::temporal::Liveness::$operator($($holds),+),
        )
    };
    (@premise) => { None };
    (@premise $premise:literal $holds:expr) => { Some(($premise, $holds)) };
    ($(use $shared:expr;)* $(
        $name:literal $($asked:ident)?: $formula:literal, $meaning:literal
        $(, if $premise:literal => $given:expr)?;
        $operator:ident($($holds:expr),+ $(,)?);
    )+) => {
        &[$($shared,)* $(bellwether_engine::temporal::Property {
            name: $name,
            formula: $formula,
            meaning: $meaning,
            by_default: property_table!(@by_default $($asked)?),
            premise: property_table!(@premise $($premise $given)?),
            temporal: property_table!(@temporal $operator $($holds),+),
        }),+]
    };
}
