//! Drives crabka's `AcquisitionState`, the pure core of its share-partition leader, in virtual time.
//!
//! Speaks the protocol of docs/verify.md. What the core leaves to its caller is done here as it
//! should be: an acknowledgement of several batches is all or nothing, and a write tells what
//! changed, as it stood before the start offset moved. (crabka itself writes the whole window after
//! the change; both forms recover the same state.) `--mend NAME` makes good one thing that the core
//! does wrong, so that a search can look behind it.

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crabka_broker::codes;
use crabka_broker::share_coordinator::persistence::StateBatch;
use crabka_broker::share_partition::state::{
    AckType, AcquisitionState, DS_ACKNOWLEDGED, DS_ARCHIVED, DS_AVAILABLE,
};
use serde_json::{Value, json};

const MENDS: [&str; 5] = [
    "complete-count",
    "delivery-limit",
    "leave",
    "window",
    "passed",
];
const RENEW: i64 = 4;
const RELEASE: i64 = 2;

/// A run of records, as the core's `Debug` shows them: it has no other way to be seen.
#[derive(Clone)]
struct Run {
    first: i64,
    last: i64,
    state: String,
    count: i64,
    owner: Option<String>,
}

struct Driver {
    mends: Vec<String>,
    core: AcquisitionState,
    config: Value,
    epoch: Instant,
    now_ms: u64,
    writes: i64,
}

fn main() {
    let mends = match mends(std::env::args().skip(1)) {
        Ok(mends) => mends,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let mut driver = Driver::new(mends);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let asked = request["do"].as_str().unwrap_or_default().to_owned();
        let reply = match asked.as_str() {
            "hello" => hello(),
            "reset" => {
                driver = Driver::new(driver.mends);
                json!({})
            }
            "apply" => {
                let applied = AssertUnwindSafe(|| driver.apply(&request["operation"]));
                catch_unwind(applied).unwrap_or_else(|_| json!({"error": "it panicked"}))
            }
            _ => json!({}),
        };
        writeln!(out, "{reply}")
            .and_then(|()| out.flush())
            .expect("a reader");
        if asked == "goodbye" {
            return;
        }
    }
}

fn mends(arguments: impl Iterator<Item = String>) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--mend", Some(name)) if MENDS.contains(&name.as_str()) => found.push(name),
            _ => {
                return Err(format!(
                    "usage: core [--mend NAME]..., of {}",
                    MENDS.join(", ")
                ));
            }
        }
    }
    Ok(found)
}

fn hello() -> Value {
    json!({
        "protocol": 1, "name": "crabka AcquisitionState", "version": sharespec_crabka::version(),
        "profile": "kip",
        "capabilities": {
            "acquire_modes": ["record_limit"], "renew": true, "validates_requests": false,
            "pending_writes": false, "write_errors": [], "advance_log_start": false,
            "take_over": true, "alter_config": true, "dead_letter_queue": false,
        },
    })
}

impl Driver {
    fn new(mends: Vec<String>) -> Self {
        let core = AcquisitionState::new(0);
        let epoch = Instant::now();
        Self {
            mends,
            core,
            config: Value::Null,
            epoch,
            now_ms: 0,
            writes: 0,
        }
    }

    fn mended(&self, name: &str) -> bool {
        self.mends.iter().any(|mend| mend == name)
    }

    fn now(&self) -> Instant {
        self.epoch + Duration::from_millis(self.now_ms)
    }

    fn lock(&self) -> Duration {
        Duration::from_millis(number(&self.config["record_lock_duration_ms"]).unsigned_abs())
    }

    fn limit(&self) -> i64 {
        number(&self.config["delivery_count_limit"])
    }

    fn apply(&mut self, operation: &Value) -> Value {
        let start = self.core.start_offset;
        let mut changed = Vec::new();
        let mut reply = json!({"result": {"status": "NONE"}});
        let member = operation["member"].as_str().unwrap_or_default();
        match operation["op"].as_str().unwrap_or_default() {
            "initialize" => self.initialize(operation),
            "alter_config" => self.config = operation["config"].clone(),
            "acquire" => reply = self.acquire(member, operation),
            "acknowledge" => {
                let before = self.core.clone();
                let asked = operation["batches"].as_array().expect("batches");
                let done = asked
                    .iter()
                    .try_for_each(|b| self.acknowledge(member, b, start, &mut changed));
                if done.is_err() {
                    self.core = before;
                    changed.clear();
                    reply["result"]["status"] = json!("INVALID_RECORD_STATE");
                }
            }
            "release" if self.mended("leave") => self.leave(member, &mut changed),
            "advance_time" => {
                self.now_ms += number(&operation["ms"]).unsigned_abs();
                self.expire(&mut changed);
            }
            "release" | "produce" => {}
            other => return json!({"error": format!("unknown operation {other}")}),
        }
        reply["writes"] = self.written(start, &changed);
        reply["completed"] = json!([]);
        reply["after"] = self.after();
        reply
    }

    /// Offsets that the stored state does not name are available, as the core itself stores them.
    fn initialize(&mut self, operation: &Value) {
        let stored = &operation["persisted"];
        let start = match number(&stored["start_offset"]) {
            -1 => reset(operation),
            start => start,
        };
        let mut batches = Vec::new();
        let mut next = start;
        for row in stored["state_batches"].as_array().expect("batches") {
            let (first, last) = (number(&row[0]), number(&row[1]));
            if first > next {
                batches.push(batch(next, first - 1, DS_AVAILABLE, 0));
            }
            let state = i8::try_from(number(&row[2])).expect("a state");
            batches.push(batch(first, last, state, number(&row[3])));
            next = last + 1;
        }
        let complete = i32::try_from(number(&stored["delivery_complete_count"]).max(0));
        self.config = operation["config"].clone();
        self.now_ms = number(&operation["time_ms"]).unsigned_abs();
        self.core = AcquisitionState::new(start);
        self.core
            .load_from(start, 0, 0, complete.expect("a count"), &batches);
    }

    /// Fetches as crabka does: it extends its window, acquires, and reads what it acquired.
    fn acquire(&mut self, member: &str, operation: &Value) -> Value {
        let runs = self.runs();
        let free = runs
            .iter()
            .find(|run| run.state == "Available")
            .map(|run| run.first);
        let at = free.unwrap_or(self.core.end_offset);
        let log: Vec<(i64, i64)> = operation["log"]
            .as_array()
            .expect("a log")
            .iter()
            .map(|row| (number(&row[0]), number(&row[1])))
            .filter(|(_, last)| *last >= at)
            .collect();
        let most = usize::try_from(number(&operation["max_batches"])).expect("a number");
        let mut read = log
            .iter()
            .take(most)
            .next_back()
            .map_or(at, |(_, last)| last + 1);
        let locks = number(&self.config["partition_max_record_locks"]);
        if self.mended("window") {
            let end = self.core.start_offset + locks;
            let inside = log.iter().filter(|(first, _)| *first < end.min(read));
            read = inside
                .map(|(_, last)| (last + 1).min(end).min(read))
                .max()
                .unwrap_or(at);
        }
        self.core.materialize(read, clamped(locks));
        let wanted = clamped(number(&operation["max_fetch_records"]));
        let limit = i16::try_from(self.limit()).unwrap_or(i16::MAX);
        let taken = self
            .core
            .acquire(member, wanted, i32::MAX, self.now(), self.lock(), limit);
        let read = taken.last().map_or(read, |range| read.max(range.last + 1));
        let acquired: Vec<Value> = taken
            .iter()
            .map(|r| json!([r.first, r.last, r.delivery_count]))
            .collect();
        let batches: Vec<Value> = log
            .iter()
            .filter(|(first, _)| *first < read)
            .map(|(first, last)| json!([first, last]))
            .collect();
        let count: i64 = taken.iter().map(|range| range.last - range.first + 1).sum();
        json!({
            "result": {"status": "NONE", "acquired": acquired, "count": count},
            "fetch_offset": at, "log_batches": batches,
        })
    }

    fn acknowledge(
        &mut self,
        member: &str,
        row: &Value,
        start: i64,
        changed: &mut Vec<Value>,
    ) -> Result<(), i16> {
        let (mut first, last) = (number(&row[0]), number(&row[1]));
        let types = row[2].as_array().expect("types");
        let asked = first;
        if self.mended("passed") {
            first = first.max(start);
        }
        if types.len() == 1 {
            return if first > last && self.mended("passed") {
                Ok(())
            } else {
                self.acknowledge_range(member, first, last, number(&types[0]), changed)
            };
        }
        (first..=last).try_for_each(|offset| {
            let kind = &types[usize::try_from(offset - asked).expect("an index")];
            self.acknowledge_range(member, offset, offset, number(kind), changed)
        })
    }

    fn acknowledge_range(
        &mut self,
        member: &str,
        first: i64,
        last: i64,
        kind: i64,
        changed: &mut Vec<Value>,
    ) -> Result<(), i16> {
        if kind == RENEW && self.config["renew_acknowledge_enable"] == json!(false) {
            return Err(codes::INVALID_RECORD_STATE);
        }
        if kind == RENEW {
            return self
                .core
                .renew(member, first, last, self.now(), self.lock());
        }
        let ack = AckType::from_i8(i8::try_from(kind).expect("a type")).expect("a known type");
        if !(kind == RELEASE && self.mended("delivery-limit")) {
            let held = runs_in(&self.core, first, last);
            self.core
                .acknowledge(member, first, last, ack, self.now())?;
            note(&held, kind, changed);
            return Ok(());
        }
        let found = runs_in(&self.core, first, last);
        if found
            .iter()
            .map(|run| run.last - run.first + 1)
            .sum::<i64>()
            < last - first + 1
        {
            return self.core.acknowledge(member, first, last, ack, self.now());
        }
        for run in found {
            let over = run.count >= self.limit();
            let (ack, kind) = if over {
                (AckType::Reject, 3)
            } else {
                (ack, kind)
            };
            self.core
                .acknowledge(member, run.first, run.last, ack, self.now())?;
            note(&[run], kind, changed);
        }
        Ok(())
    }

    /// Releases what a member holds. The core has no such operation, and crabka releases nothing.
    fn leave(&mut self, member: &str, changed: &mut Vec<Value>) {
        for run in self.runs() {
            if run.owner.as_deref() == Some(member) {
                self.acknowledge_range(member, run.first, run.last, RELEASE, changed)
                    .expect("a member may release what it holds");
            }
        }
    }

    fn expire(&mut self, changed: &mut Vec<Value>) {
        let held = self.runs().into_iter().filter(|run| run.owner.is_some());
        let mut expired = self.core.clone();
        expired.expire_locks(self.now());
        let over: Vec<Run> = held
            .flat_map(|run| runs_in(&expired, run.first, run.last))
            .filter(|run| run.owner.is_none())
            .collect();
        for run in over {
            let archived = run.count >= self.limit() && self.mended("delivery-limit");
            if archived {
                self.archive(&run);
            }
            let state = if archived { DS_ARCHIVED } else { DS_AVAILABLE };
            changed.push(json!([run.first, run.last, state, run.count]));
        }
        self.core.expire_locks(self.now());
    }

    /// Archives held records, as if their owner had rejected them.
    fn archive(&mut self, run: &Run) {
        for held in runs_in(&self.core, run.first, run.last) {
            let owner = held.owner.expect("an owner");
            self.core
                .acknowledge(&owner, held.first, held.last, AckType::Reject, self.now())
                .expect("an owner may reject");
        }
    }

    fn written(&mut self, start: i64, changed: &[Value]) -> Value {
        if changed.is_empty() {
            return json!([]);
        }
        let mut batches = changed.to_vec();
        batches.sort_by_key(|row| number(&row[0]));
        let complete = if self.mended("complete-count") {
            self.complete() + self.core.start_offset - start
        } else {
            i64::from(self.core.to_persist_batches().1)
        };
        self.writes += 1;
        json!([{
            "id": self.writes - 1, "start_offset": start, "delivery_complete_count": complete,
            "state_batches": batches, "status": "NONE",
        }])
    }

    fn complete(&self) -> i64 {
        let done = |run: &&Run| run.state == "Acknowledged" || run.state == "Archived";
        self.runs()
            .iter()
            .filter(done)
            .map(|run| run.last - run.first + 1)
            .sum()
    }

    fn after(&self) -> Value {
        let complete = if self.mended("complete-count") {
            self.complete()
        } else {
            i64::from(self.core.to_persist_batches().1)
        };
        let records: Vec<Value> = self
            .runs()
            .iter()
            .map(|r| {
                json!([
                    r.first,
                    r.last,
                    r.state.to_uppercase(),
                    r.count,
                    r.owner,
                    false
                ])
            })
            .collect();
        json!({
            "start_offset": self.core.start_offset, "end_offset": self.core.end_offset,
            "delivery_complete_count": complete, "records": records,
        })
    }

    fn runs(&self) -> Vec<Run> {
        runs_in(&self.core, i64::MIN, i64::MAX)
    }
}

/// Notes what an acknowledgement made of records that it found so.
fn note(held: &[Run], kind: i64, changed: &mut Vec<Value>) {
    for run in held {
        let state = match kind {
            1 => DS_ACKNOWLEDGED,
            RELEASE => DS_AVAILABLE,
            _ => DS_ARCHIVED,
        };
        changed.push(json!([run.first, run.last, state, run.count]));
    }
}

/// The records from `first` to `last`, cut at both.
fn runs_in(core: &AcquisitionState, first: i64, last: i64) -> Vec<Run> {
    format!("{core:?}")
        .split("InFlightBatch { ")
        .skip(1)
        .map(run_from)
        .filter(|run| run.last >= first && run.first <= last)
        .map(|run| Run {
            first: run.first.max(first),
            last: run.last.min(last),
            ..run
        })
        .collect()
}

fn run_from(shown: &str) -> Run {
    let field = |name: &str| {
        let (_, rest) = shown.split_once(&format!("{name}: ")).expect("the field");
        rest.split([',', ' ']).next().expect("a value").to_owned()
    };
    let whole = |name: &str| field(name).parse().expect("a number");
    let owner = field("acquired_by");
    Run {
        first: whole("first_offset"),
        last: whole("last_offset"),
        state: field("state"),
        count: whole("delivery_count"),
        owner: owner
            .strip_prefix("Some(\"")
            .and_then(|o| o.strip_suffix("\")"))
            .map(str::to_owned),
    }
}

/// Where a share-partition begins that has no start offset.
fn reset(operation: &Value) -> i64 {
    let field = match operation["config"]["auto_offset_reset"].as_str() {
        Some("earliest") => "log_start_offset",
        Some("latest") => "log_end_offset",
        _ => "reset_offset",
    };
    number(&operation[field])
}

fn batch(first_offset: i64, last_offset: i64, delivery_state: i8, count: i64) -> StateBatch {
    let delivery_count = i16::try_from(count).expect("a count");
    StateBatch {
        first_offset,
        last_offset,
        delivery_state,
        delivery_count,
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}

fn clamped(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
