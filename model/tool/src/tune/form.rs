//! Whether numbers are one linear form of the delay and the processing time.

use serde::{Serialize, Serializer};
use std::fmt;

/// The linear form `per_delay`·Tm + `per_processing`·Tp + `constant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The coefficient of the delay: what each tick of it adds; `None` if all delays were the same.
    pub per_delay: Option<i64>,
    /// The coefficient of processing: what each tick of it adds; `None` if all processing times
    /// were the same.
    pub per_processing: Option<i64>,
    /// The constant: the rest.
    pub constant: i64,
}

/// The fit of a form to numbers: whether there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The form gives all numbers, and there are more of them than the form has coefficients.
    Form(Form),
    /// No form gives all of them.
    None,
    /// The numbers are too few: any would fit.
    TooFew,
}

impl Fit {
    /// Returns the form that gives the last of each three numbers from the delay and the processing
    /// time.
    #[must_use]
    pub fn of(rows: &[(u8, u8, u8)]) -> Fit {
        let rows: Vec<[i64; 3]> =
            rows.iter().map(|&(tm, tp, ticks)| [tm, tp, ticks].map(i64::from)).collect();
        let Some(&[first_tm, first_tp, first]) = rows.first() else { return Fit::TooFew };
        let varies = |column: usize| rows.iter().any(|row| row[column] != rows[0][column]);
        let unknowns = 1 + usize::from(varies(0)) + usize::from(varies(1));
        if rows.len() <= unknowns {
            return Fit::TooFew;
        }
        let slopes = (slope(&rows, 0), slope(&rows, 1));
        let (Ok(per_delay), Ok(per_processing)) = slopes else { return Fit::None };
        let (a, b) = (per_delay.unwrap_or(0), per_processing.unwrap_or(0));
        let constant = first - a * first_tm - b * first_tp;
        // The slopes are those of two rows each; whether all rows have them is checked here.
        let fits = rows.iter().all(|&[tm, tp, ticks]| a * tm + b * tp + constant == ticks);
        if fits { Fit::Form(Form { per_delay, per_processing, constant }) } else { Fit::None }
    }
}

/// What one more in `column` adds, from two rows that differ in it alone; an error if that is not
/// whole, or there are no such rows although the column varies.
fn slope(rows: &[[i64; 3]], column: usize) -> Result<Option<i64>, ()> {
    let other = 1 - column;
    let first = rows[0];
    if rows.iter().all(|row| row[column] == first[column]) {
        return Ok(None);
    }
    let apart = |row: &&[i64; 3]| row[column] != first[column] && row[other] == first[other];
    let row = rows.iter().find(apart).ok_or(())?;
    let (rise, run) = (row[2] - first[2], row[column] - first[column]);
    if rise % run == 0 { Ok(Some(rise / run)) } else { Err(()) }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = [
            (self.per_delay.unwrap_or(0), "Tm"),
            (self.per_processing.unwrap_or(0), "Tp"),
            (self.constant, ""),
        ];
        let mut begun = false;
        for (factor, name) in terms.into_iter().filter(|&(factor, _)| factor != 0) {
            match (begun, factor < 0) {
                (false, true) => f.write_str("-")?,
                (true, true) => f.write_str(" - ")?,
                (true, false) => f.write_str(" + ")?,
                (false, false) => {}
            }
            match (factor.abs(), name) {
                (size, "") => write!(f, "{size}")?,
                (1, name) => f.write_str(name)?,
                (size, name) => write!(f, "{size}·{name}")?,
            }
            begun = true;
        }
        if begun { Ok(()) } else { f.write_str("0") }
    }
}

/// The form as text, or nothing.
impl Serialize for Fit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Fit::Form(form) => serializer.collect_str(form),
            Fit::None | Fit::TooFew => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fit;

    fn grid(ticks: impl Fn(u8, u8) -> u8) -> Vec<(u8, u8, u8)> {
        (1..=3)
            .flat_map(|tm| (0..=2).map(move |tp| (tm, tp)))
            .map(|(m, p)| (m, p, ticks(m, p)))
            .collect()
    }

    fn words(rows: &[(u8, u8, u8)]) -> String {
        match Fit::of(rows) {
            Fit::Form(form) => form.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_linear_table_has_its_form() {
        assert_eq!(words(&grid(|tm, tp| 2 * tm + tp + 1)), "2·Tm + Tp + 1");
        assert_eq!(words(&grid(|tm, _| 5 - tm)), "-Tm + 5");
        assert_eq!(words(&grid(|_, _| 0)), "0");
        assert_eq!(words(&[(1, 2, 3), (2, 2, 5), (3, 2, 7)]), "2·Tm + 1");
    }

    #[test]
    fn one_number_that_does_not_fit_leaves_no_form() {
        for at in 0..9 {
            let mut rows = grid(|tm, tp| 2 * tm + tp + 1);
            rows[at].2 += 1;
            assert_eq!(Fit::of(&rows), Fit::None, "{rows:?}");
        }
    }

    #[test]
    fn few_numbers_prove_nothing() {
        assert_eq!(Fit::of(&[]), Fit::TooFew);
        assert_eq!(Fit::of(&[(1, 0, 3)]), Fit::TooFew);
        assert_eq!(Fit::of(&[(1, 0, 3), (2, 0, 5)]), Fit::TooFew);
        assert_eq!(Fit::of(&[(1, 0, 3), (3, 0, 6), (2, 0, 5)]), Fit::None);
    }
}
