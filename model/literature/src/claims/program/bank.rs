//! The lecture's transaction, translated line for line: what a customer has if a failure ends it
//! after one of its points, and nothing is undone.

use super::{Account, Program};

const FILE: &str = "model/literature/src/claims/program/bank.rs";

pub(super) const PROGRAMS: &[Program] =
    &[Program::new("bank-loses-money-after-two-points-only", FILE, loses_after_two_points)];

/// What the customer has.
struct Accounts {
    savings: i64,
    checking: i64,
    moneymkt: i64,
    dispensed: i64,
}

impl Accounts {
    fn sum(&self) -> i64 {
        self.savings + self.checking + self.moneymkt + self.dispensed
    }

    /// Does the line with this number; 7 is the commit point, and 8 what the plan calls C.
    fn point(&mut self, number: u8) {
        match number {
            1 => self.savings -= 100,
            2 => self.checking += 100,
            3 => self.moneymkt -= 300,
            4 => self.checking += 300,
            6 => self.checking -= 350,
            8 => self.dispensed += 350,
            // 5 verifies that checking exceeds 350, which it does.
            _ => {}
        }
    }
}

/// Asks whether the customer loses money if a failure occurs after the points 1 and 3, and after no
/// other.
fn loses_after_two_points() -> Account {
    let mut accounts = Accounts { savings: 100, checking: 0, moneymkt: 300, dispensed: 0 };
    let before = accounts.sum();
    let (mut holds, mut story) = (true, Vec::new());
    for number in 1..=8 {
        accounts.point(number);
        let lost = before - accounts.sum();
        holds &= (lost > 0) == [1, 3].contains(&number);
        story.push(format!("a failure after point {number}: {lost} are lost"));
    }
    Account::of(holds, story)
}
