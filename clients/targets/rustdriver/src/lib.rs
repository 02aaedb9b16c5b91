//! What the drivers of share consumers in Rust have in common: docs/verify-client.md's commands.

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

pub type Failure = Box<dyn std::error::Error>;

/// The topic, partition and offset of a record.
pub type Offset = (String, i32, i64);

/// How a client is to be opened.
#[derive(Clone, Default)]
pub struct Settings {
    /// The addresses of brokers, separated by commas.
    pub bootstrap: String,
    pub group: String,
    /// `implicit` or `explicit`.
    pub mode: String,
    /// `batch_optimized` or `record_limit`.
    pub acquire_mode: String,
    pub max_poll_records: i32,
}

impl Settings {
    pub fn is_explicit(&self) -> bool {
        self.mode == "explicit"
    }

    pub fn is_record_limit(&self) -> bool {
        self.acquire_mode == "record_limit"
    }
}

/// A client, driven by one command after the other. An error is the answer to its command.
#[allow(async_fn_in_trait)] // No command is moved to another thread.
pub trait Driver {
    /// Return the name of the client and what it can do.
    fn hello(&self) -> Value;

    async fn open(&mut self, settings: Settings) -> Result<(), Failure>;

    async fn subscribe(&mut self, topics: Vec<String>) -> Result<(), Failure>;

    /// Return each record as `record` describes it.
    async fn poll(&mut self, time: Duration) -> Result<Vec<Value>, Failure>;

    /// Acknowledge a record that is in hand: 1 accepts, 2 releases, 3 rejects, 4 renews.
    async fn acknowledge(&mut self, offset: Offset, kind: i64) -> Result<(), Failure>;

    /// Return what `outcome` says of each partition; None where the client does not tell.
    async fn commit(&mut self, time: Duration) -> Result<Option<Vec<Value>>, Failure>;

    /// Send what was acknowledged; nothing is to be done where the client does so by itself.
    async fn commit_async(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    async fn close(&mut self) -> Result<(), Failure>;

    /// Return what the callback said since the last command, by `completion`; None without one.
    fn completed(&mut self) -> Option<Vec<Value>> {
        None
    }
}

/// Describe a record that a poll returned.
pub fn record(offset: &Offset, delivery_count: impl Into<i64>, value: Option<&[u8]>) -> Value {
    json!({
        "topic": offset.0,
        "partition": offset.1,
        "offset": offset.2,
        "delivery_count": delivery_count.into(),
        "value": value.map(String::from_utf8_lossy),
    })
}

/// Describe what became of a commit in a partition.
pub fn outcome(topic: &str, partition: i32, error: Option<String>) -> Value {
    json!({ "topic": topic, "partition": partition, "error": error })
}

/// Describe what the callback said of a partition.
pub fn completion(topic: &str, partition: i32, offsets: Vec<i64>, error: Option<String>) -> Value {
    json!({ "topic": topic, "partition": partition, "offsets": offsets, "error": error })
}

/// Answer the commands that come in, a line each, until there are no more.
pub fn run(mut driver: impl Driver) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        let mut answer = match runtime.block_on(carry_out(&mut driver, &command)) {
            Ok(answer) => answer,
            Err(error) => json!({ "error": error.to_string() }),
        };
        if let Some(completed) = driver.completed() {
            answer["completed"] = Value::Array(completed);
        }
        writeln!(out, "{answer}")?;
        out.flush()?;
        if command["do"] == "goodbye" {
            break;
        }
    }
    Ok(())
}

async fn carry_out(driver: &mut impl Driver, command: &Value) -> Result<Value, Failure> {
    let text = |name: &str| command[name].as_str().unwrap_or("").to_string();
    let number = |name: &str| command[name].as_i64();
    let time = Duration::from_millis(command["timeout_ms"].as_u64().unwrap_or(0));
    match text("do").as_str() {
        "hello" => {
            let mut answer = driver.hello();
            answer["protocol"] = json!(1);
            return Ok(answer);
        }
        "open" => {
            let settings = Settings {
                bootstrap: text("bootstrap"),
                group: text("group"),
                mode: text("mode"),
                acquire_mode: text("acquire_mode"),
                max_poll_records: i32::try_from(number("max_poll_records").unwrap_or(500))?,
            };
            driver.open(settings).await?;
        }
        "subscribe" => {
            let topics = command["topics"].as_array().ok_or("no topics")?;
            let names = topics.iter().filter_map(Value::as_str).map(str::to_string);
            driver.subscribe(names.collect()).await?;
        }
        "poll" => return Ok(json!({ "records": driver.poll(time).await? })),
        "acknowledge" => {
            let partition = i32::try_from(number("partition").unwrap_or(-1))?;
            let offset = (text("topic"), partition, number("offset").unwrap_or(-1));
            driver.acknowledge(offset, number("type").unwrap_or(0)).await?;
        }
        "commit" => {
            if let Some(results) = driver.commit(time).await? {
                return Ok(json!({ "results": results }));
            }
        }
        "commit_async" => driver.commit_async().await?,
        "close" => driver.close().await?,
        "goodbye" => {}
        other => return Err(format!("no such command: {other}").into()),
    }
    Ok(json!({}))
}
