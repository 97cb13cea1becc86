//! The lecture's transaction, line for line: what a customer has if a failure ends it after one of
//! its points, and nothing is undone.

use super::Account;

struct Accounts {
    savings: i64,
    checking: i64,
    moneymkt: i64,
    dispensed: i64,
}

impl Accounts {
    /// What the customer has.
    fn sum(&self) -> i64 {
        self.savings + self.checking + self.moneymkt + self.dispensed
    }

    /// The line with this number; 7 is the commit point, and 8 what the plan calls C.
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

/// The customer loses money if a failure occurs after the points 1 and 3, and after no other.
pub(super) fn loses_after_two_points() -> Account {
    let lost_after = |last: u8| {
        let mut accounts = Accounts { savings: 100, checking: 0, moneymkt: 300, dispensed: 0 };
        let before = accounts.sum();
        (1..=last).for_each(|number| accounts.point(number));
        before - accounts.sum()
    };
    let lost: Vec<(u8, i64)> = (1..=8).map(|last| (last, lost_after(last))).collect();
    let holds = lost.iter().all(|&(last, lost)| (lost > 0) == [1, 3].contains(&last));
    let line = |&(last, lost): &(u8, i64)| format!("a failure after point {last}: {lost} are lost");
    Account::of(holds, lost.iter().map(line).collect())
}
