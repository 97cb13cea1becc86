//! The tables of a specification: its variants, its timers, and the properties that are asked of it
//! alone.

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

/// Says in the `impl` of a protocol what stands elsewhere in its file: the tables `VARIANTS`,
/// `TIMERS` and `PROPERTIES`, the documentation of its rules, and the types of its volatile and
/// stable state, of its messages, and of its timers.
macro_rules! parts {
    ($process:ty, $stable:ty, $message:ty, $timer:ty) => {
        const VARIANTS: &'static [bellwether_engine::protocol::Variant<Self>] = VARIANTS;
        const TIMERS: &'static [bellwether_engine::protocol::TimerRow<Self>] = TIMERS;
        const PROPERTIES: &'static [bellwether_engine::protocol::Property<
            bellwether_engine::protocol::Judge<Self>,
        >] = PROPERTIES;
        const RULES: fn() -> Vec<bellwether_engine::protocol::Rule> =
            bellwether_engine::protocol::Rule::all_of::<Self>;

        type Process = $process;
        type Stable = $stable;
        type Message = $message;
        type Timer = $timer;
    };
}

/// Makes the type `Timer` of a protocol, and the table `TIMERS` with a row for each:
/// `Name => fixed(&T_NAME).armed_if(test);`, as [`TimerRow`](bellwether_engine::protocol::TimerRow)
/// builds it.
macro_rules! timer_table {
    ($rules:ty: $(
        $(#[$doc:meta])+
        $timer:ident => $kind:ident($($duration:expr)?)
            $(.$condition:ident($($test:expr),+ $(,)?))*;
    )+) => {
        /// A timer of a process.
        #[bellwether_engine::protocol::event_type]
        pub enum Timer {
            $($(#[$doc])+ $timer,)+
        }

        const TIMERS: &[bellwether_engine::protocol::TimerRow<$rules>] = &[$(
            bellwether_engine::protocol::TimerRow::<$rules>::$kind(
                Timer::$timer $(, $duration)?
            )$(.$condition($($test),+))*
        ),+];
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

/// Makes a protocol of a type of rules whose processes do what the functions of a module say: its
/// name, its summary, and the types of its volatile and stable state and of its messages.
macro_rules! protocol_by {
    ($module:ident: $rules:ident, $name:literal, $summary:literal;
     $process:ty, $stable:ty, $message:ty) => {
        const _: () = {
            use bellwether_engine::protocol::{Belief, Id, Local, Options, Protocol, View};

            impl Protocol for $rules {
                const NAME: &'static str = $name;
                const SUMMARY: &'static str = $summary;
                const OPTIONS: Options<Self> = $module::options();

                parts!($process, $stable, $message, $module::Timer);

                fn converged(&self, p: &mut Local<'_, Self>) {
                    $module::converged(self, p);
                }

                fn recover(&self, p: &mut Local<'_, Self>) {
                    $module::recover(self, p);
                }

                fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: $message) {
                    $module::receive(self, p, from, message);
                }

                fn expire(&self, p: &mut Local<'_, Self>, timer: $module::Timer) {
                    $module::expire(self, p, timer);
                }

                fn may_time_out(
                    &self,
                    view: &View<'_, Self>,
                    me: Id,
                    timer: $module::Timer,
                ) -> bool {
                    $module::may_time_out(self, view, me, timer)
                }

                fn belief(process: &$process) -> Belief {
                    $module::belief(process)
                }

                fn role(process: &$process) -> &'static str {
                    $module::role(process)
                }
            }
        };
    };
}
