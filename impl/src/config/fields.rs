//! The keys of a section. The macro `section` declares a section with its flags and variables; the
//! sections of the protocols and `[detector]` are lists of [`Field`]s.

use std::path::PathBuf;
use std::time::Duration;

use bellwether_stores::address::StoreAddress;
use humantime::format_duration;

use crate::detector::{Detection, Settings};
use crate::protocol::quorum::Preemption;

/// The keys of a section, in the order in which they are written, each with its value.
pub type Fields<'a> = Vec<(&'static str, Field<'a>)>;

/// A value of the type that the key has.
#[derive(Debug)]
pub enum Field<'a> {
    /// A length of time, such as `"300ms"`.
    Time(&'a mut Duration),
    /// A number.
    Number(&'a mut f64),
    /// A number of things.
    Count(&'a mut usize),
    /// The store of the lease, such as `3` or `"sqlite:orders.db"`; `None` if there is no default.
    Store(&'a mut Option<StoreAddress>),
    /// The path of a file, which may be another on each node; `None` if there is no default.
    File(&'a mut Option<PathBuf>),
    /// Whether a higher node takes over, such as `"dwell"`.
    Preemption(&'a mut Preemption),
}

impl Field<'_> {
    /// The value as a file has it; `None` if there is none.
    pub(super) fn written(&self) -> Option<String> {
        match self {
            Self::Time(time) => Some(format!("\"{}\"", format_duration(**time))),
            Self::Number(number) => Some(format!("{number:?}")),
            Self::Count(count) => Some(count.to_string()),
            Self::Store(store) => match store.as_ref()? {
                StoreAddress::Node(node) => Some(node.to_string()),
                StoreAddress::At(place) => Some(quoted(place.as_str())),
                // No file can name it.
                StoreAddress::Own(_) => None,
            },
            Self::File(file) => Some(quoted(&file.as_ref()?.to_string_lossy())),
            Self::Preemption(value) => {
                let named = Preemption::NAMES.iter().find(|(_, known)| known == *value);
                named.map(|(name, _)| format!("\"{name}\""))
            }
        }
    }
}

/// A text as a file has it: what JSON writes is read by TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Declares a section as a type, and each of its keys once: the text, which is also the help of the
/// flag; the type; the flag and the name of its value; the variable, if any; and further attributes
/// of the argument. The id of the argument is the path of the key. Fields in a second block have
/// arguments of their own.
macro_rules! section {
    (
        $(#[$($about:tt)*])*
        pub struct $name:ident in $section:literal, $heading:literal {
            $(
                $(#[$($attribute:tt)*])*
                $key:ident: $type:ty =
                    $flag:literal, $value:literal $(, $variable:literal)?
                    $(, $more:ident = $how:expr)*;
            )+
        }
        $({ $($other:tt)+ })?
    ) => {
        $(#[$($about)*])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "flags", derive(clap::Args))]
        #[serde(default)]
        pub struct $name {
            $(
                $(#[$($attribute)*])*
                #[cfg_attr(feature = "flags", arg(
                    id = concat!($section, stringify!($key)),
                    long = $flag,
                    value_name = $value,
                    $(env = $variable,)?
                    help_heading = $heading
                    $(, $more = $how)*
                ))]
                pub $key: $type,
            )+
            $($($other)+)?
        }
    };
}
pub(super) use section;

/// A length of time in a file.
pub(super) mod time {
    use std::time::Duration;

    use humantime::format_duration;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::config) fn deserialize<'de, D, T>(value: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: From<Duration>,
    {
        let time = crate::config::duration(&String::deserialize(value)?);
        time.map(T::from).map_err(serde::de::Error::custom)
    }

    pub(in crate::config) fn serialize<S, T>(time: &T, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
        T: Copy + Into<Option<Duration>>,
    {
        let time: Option<Duration> = (*time).into();
        match time {
            Some(time) => serializer.collect_str(&format_duration(time)),
            None => serializer.serialize_none(),
        }
    }
}

/// The lines of a section that must be the same on every node, with these fields.
pub(super) fn shared(section: &str, mut fields: Fields<'_>) -> String {
    fields.retain(|(_, field)| !matches!(field, Field::File(_)));
    write(section, &fields)
}

/// The lines of a section with these fields.
pub(super) fn write(section: &str, fields: &Fields<'_>) -> String {
    let line = |(key, field): &(&str, Field<'_>)| Some(format!("{key} = {}\n", field.written()?));
    let lines: String = fields.iter().filter_map(line).collect();
    format!("\n[{section}]\n{lines}")
}

/// The kinds of detectors, by their names: with what the nodes watch each other, where the protocol
/// asks for it.
pub(super) const KINDS: [&str; 3] = ["fixed", "adaptive", "phi"];

pub(super) fn kind_of(settings: &Settings) -> &'static str {
    match settings {
        Settings::Fixed(_) => KINDS[0],
        Settings::Adaptive(_) => KINDS[1],
        Settings::Phi(_) => KINDS[2],
    }
}

/// What can be set in the section of a kind. The interval that is expected is the heartbeat's.
pub(super) fn kind_fields(settings: &mut Settings) -> Fields<'_> {
    match settings {
        Settings::Fixed(fixed) => vec![("timeout", Field::Time(&mut fixed.timeout))],
        Settings::Adaptive(adaptive) => vec![
            ("multiple", Field::Number(&mut adaptive.multiple)),
            ("shortest", Field::Time(&mut adaptive.shortest)),
            ("longest", Field::Time(&mut adaptive.longest)),
        ],
        Settings::Phi(phi) => vec![
            ("threshold", Field::Number(&mut phi.threshold)),
            ("window", Field::Count(&mut phi.window)),
            ("shortest", Field::Time(&mut phi.shortest)),
            ("longest", Field::Time(&mut phi.longest)),
            ("deviation", Field::Time(&mut phi.deviation)),
            ("pause", Field::Time(&mut phi.pause)),
        ],
    }
}

/// What can be set in `[detector]`, whatever the kind.
pub(super) fn detector_fields(detection: &mut Detection) -> Fields<'_> {
    vec![
        ("heartbeat", Field::Time(&mut detection.heartbeat)),
        ("start", Field::Time(&mut detection.start)),
    ]
}

/// The section `[detector]` as a file has it.
pub(super) fn write_detector(mut detection: Detection) -> String {
    let kind = kind_of(&detection.detector);
    let section = write("detector", &detector_fields(&mut detection));
    let own = write(&format!("detector.{kind}"), &kind_fields(&mut detection.detector));
    section.replacen("]\n", &format!("]\nkind = \"{kind}\"\n"), 1) + &own
}
