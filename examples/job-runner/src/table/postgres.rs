//! The table in PostgreSQL.

use bellwether::fence::{Token, sql};
use postgres::{Client, NoTls, Transaction};

use super::{DONE, Done, Failure, Job, NEXT, RESOURCE, RESULT, RESULTS, Table, job, takes_ms};

/// The server ends a transaction in which nothing happens for so long: that of a leader which is
/// paused in the middle would hold up the next leader for as long as the pause. Locks are waited
/// for a little longer than that.
const SESSION: &str = "SET idle_in_transaction_session_timeout = '1s'; SET lock_timeout = '3s'";

pub(super) struct Postgres(Client);

impl Postgres {
    pub(super) fn connect(url: &str) -> Result<Self, postgres::Error> {
        let mut client = Client::connect(url, NoTls)?;
        client.batch_execute(SESSION)?;
        Ok(Self(client))
    }
}

/// The fence: the first thing that a transaction does.
fn admit(transaction: &mut Transaction<'_>, token: Token) -> Result<(), Failure> {
    let (epoch, node) = (sql::number(token.epoch), i64::from(token.node.get()));
    let rows = transaction.execute(sql::ADMIT, &[&RESOURCE, &epoch, &node])?;
    sql::admitted(token, rows).map_err(Failure::Stale)
}

impl Table for Postgres {
    fn create(&mut self, jobs: &[Job]) -> Result<(), Failure> {
        let mut transaction = self.0.transaction()?;
        transaction.batch_execute(&super::tables("BIGSERIAL PRIMARY KEY"))?;
        for job in jobs {
            let insert = "INSERT INTO jobs (id, takes_ms) VALUES ($1, $2)";
            transaction.execute(insert, &[&job.id, &takes_ms(job)])?;
        }
        Ok(transaction.commit()?)
    }

    fn raise(&mut self, token: Token) -> Result<(), Failure> {
        let mut transaction = self.0.transaction()?;
        admit(&mut transaction, token)?;
        Ok(transaction.commit()?)
    }

    fn next(&mut self) -> Result<Option<Job>, Failure> {
        let row = self.0.query_opt(NEXT, &[])?;
        Ok(row.map(|row| job(row.get(0), row.get(1))))
    }

    fn finish(&mut self, job: Job, token: Token, fenced: bool) -> Result<(), Failure> {
        let mut transaction = self.0.transaction()?;
        if fenced {
            admit(&mut transaction, token)?;
        }
        let (epoch, node) = (sql::number(token.epoch), i64::from(token.node.get()));
        transaction.execute(RESULT, &[&job.id, &node, &epoch])?;
        transaction.execute(DONE, &[&job.id])?;
        Ok(transaction.commit()?)
    }

    fn results(&mut self) -> Result<Vec<Done>, Failure> {
        let rows = self.0.query(RESULTS, &[])?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
    }
}
