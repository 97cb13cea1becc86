//! The messages and the timers of program and specification, side by side: one row each, read in
//! both directions.

/// Declares the functions [`to_program`](crate::mapping::Mapping::to_program) and
/// [`to_model`](crate::mapping::Mapping::to_model) of a mapping by one table.
///
/// A row has the specification's message, the program's, and for each field whose type differs the
/// expression for the program's value and that for the specification's. A last row, `_`,
/// names the messages of the specification that the program does not have.
#[macro_export]
macro_rules! message_table {
    (
        $visibility:vis fn $to_program:ident($spec:ty) -> $program:ty;
        fn $to_model:ident;
        $(
            $s:ident $(($($s_tuple:tt)*))? $({$($s_fields:tt)*})?
            = $p:ident $(($($p_tuple:tt)*))? $({$($p_fields:tt)*})?
            $(, $field:ident: $theirs:expr => $ours:expr)*;
        )*
        $(_ { $($missing:tt)* })?
    ) => {
        $visibility fn $to_program(message: $spec) -> Option<$program> {
            type OfSpec = $spec;
            type OfProgram = $program;
            Some(match message {
                $(
                    OfSpec::$s $(($($s_tuple)*))? $({$($s_fields)*})? => {
                        $(let $field = $theirs;)*
                        OfProgram::$p $(($($p_tuple)*))? $({$($p_fields)*})?
                    }
                )*
                $($($missing)* => return None,)?
            })
        }

        $visibility fn $to_model(message: $program) -> $spec {
            type OfSpec = $spec;
            type OfProgram = $program;
            match message {
                $(
                    OfProgram::$p $(($($p_tuple)*))? $({$($p_fields)*})? => {
                        $(let $field = $ours;)*
                        OfSpec::$s $(($($s_tuple)*))? $({$($s_fields)*})?
                    }
                )*
            }
        }
    };
}

/// Declares the functions [`timer`](crate::mapping::Mapping::timer) and
/// [`period`](crate::mapping::Mapping::period) of a mapping by one table.
///
/// A row has the specification's timer, the program's, and how long it takes by what stands behind
/// `with`. A last row, `_`, names the timers of the specification that the program does not have.
#[macro_export]
macro_rules! timer_table {
    (
        $visibility:vis fn $timer:ident($program:ty) -> $spec:ty;
        fn $period:ident($($arguments:tt)*) with $durations:pat = $value:expr;
        $($s:ident = $p:ident $(($($p_tuple:tt)*))?: $takes:expr;)*
        $(_ { $($missing:tt)* })?
    ) => {
        $visibility fn $timer(timer: $program) -> $spec {
            type OfSpec = $spec;
            type OfProgram = $program;
            match timer {
                $(OfProgram::$p $(($($p_tuple)*))? => OfSpec::$s,)*
            }
        }

        $visibility fn $period($($arguments)*, timer: $spec) -> Option<std::time::Duration> {
            type OfSpec = $spec;
            let $durations = $value;
            Some(match timer {
                $(OfSpec::$s => $takes,)*
                $($($missing)* => return None,)?
            })
        }
    };
}

#[cfg(test)]
mod tests {
    enum Spec {
        Ready(u8),
        Ok,
        Restart,
    }

    #[derive(Debug, PartialEq)]
    enum Program {
        Prepared { number: u64 },
        Ok,
    }

    message_table! {
        fn to_program(Spec) -> Program; fn to_model;
        Ready(number) = Prepared { number },
            number: number.into() => u8::try_from(number).unwrap_or(u8::MAX);
        Ok = Ok;
        _ { Spec::Restart }
    }

    #[test]
    fn a_row_is_read_in_both_directions() {
        assert_eq!(to_program(Spec::Ready(3)), Some(Program::Prepared { number: 3 }));
        assert_eq!(to_program(Spec::Ok), Some(Program::Ok));
        assert_eq!(to_program(Spec::Restart), None);
        assert!(matches!(to_model(Program::Prepared { number: 300 }), Spec::Ready(u8::MAX)));
        assert!(matches!(to_model(Program::Ok), Spec::Ok));
    }
}
