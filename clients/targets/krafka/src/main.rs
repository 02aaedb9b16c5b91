//! A driver for krafka's share consumer; docs/verify-client.md has the commands.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use krafka::Kafka;
use krafka::consumer::ConsumerRecord;
use krafka::share_consumer::{AcknowledgementMode, AcquireMode, ShareConsumer};
use serde_json::{Value, json};
use tokio::time::timeout;

/// The release in Cargo.toml.
const VERSION: &str = "0.28.1";

type Failure = Box<dyn std::error::Error>;
type Offset = (String, i32, i64);

#[derive(Default)]
struct Driver {
    consumer: Option<ShareConsumer>,
    in_hand: HashMap<Offset, ConsumerRecord>,
    completed: Arc<Mutex<Vec<Value>>>,
}

impl Driver {
    async fn carry_out(&mut self, command: &Value) -> Result<Value, Failure> {
        let time = Duration::from_millis(command["timeout_ms"].as_u64().unwrap_or(0));
        match command["do"].as_str().unwrap_or("") {
            "hello" => Ok(json!({
                "protocol": 1,
                "name": format!("krafka {VERSION}"),
                "callbacks": true,
                "renews": true,
                "resubscribes": true,
                "acquire_modes": ["batch_optimized", "record_limit"],
                "modes": ["implicit", "explicit"],
            })),
            "open" => self.open(command).await,
            "subscribe" => {
                let topics = command["topics"].as_array().ok_or("no topics")?;
                let names = topics.iter().filter_map(Value::as_str);
                self.consumer()?.subscribe(names).await?;
                Ok(json!({}))
            }
            "poll" => self.poll(time).await,
            "acknowledge" => self.acknowledge(command),
            "commit" => self.commit(time).await,
            "commit_async" => Ok(json!({})), // Acknowledgements are sent as they are made.
            "close" => {
                self.in_hand.clear();
                if let Some(consumer) = self.consumer.take() {
                    consumer.close().await?;
                }
                Ok(json!({}))
            }
            "goodbye" => Ok(json!({})),
            other => Err(format!("no such command: {other}").into()),
        }
    }

    fn consumer(&self) -> Result<&ShareConsumer, Failure> {
        self.consumer.as_ref().ok_or_else(|| "no client is open".into())
    }

    async fn open(&mut self, command: &Value) -> Result<Value, Failure> {
        let text = |name: &str| command[name].as_str().unwrap_or("").to_string();
        let mode = match text("mode").as_str() {
            "explicit" => AcknowledgementMode::Explicit,
            _ => AcknowledgementMode::Implicit,
        };
        let acquire = match text("acquire_mode").as_str() {
            "record_limit" => AcquireMode::RecordLimit,
            _ => AcquireMode::BatchOptimized,
        };
        let most = i32::try_from(command["max_poll_records"].as_i64().unwrap_or(500))?;
        let completed = Arc::clone(&self.completed);
        let kafka = Kafka::builder(text("bootstrap")).client_id("sharespec").connect().await?;
        let consumer = kafka
            .share_consumer(text("group"))
            .acknowledgement_mode(mode)
            .acquire_mode(acquire)
            .max_poll_records(most)
            .acknowledgement_commit_callback(move |commit| {
                let offsets: Vec<i64> = commit.offsets.iter().cloned().flatten().collect();
                let error = commit.result.as_ref().err().map(ToString::to_string);
                completed.lock().unwrap().push(json!({
                    "topic": commit.topic,
                    "partition": commit.partition,
                    "offsets": offsets,
                    "error": error,
                }));
            })
            .build()
            .await?;
        self.in_hand.clear();
        self.consumer = Some(consumer);
        Ok(json!({}))
    }

    async fn poll(&mut self, time: Duration) -> Result<Value, Failure> {
        let polled = self.consumer()?.poll(time).await?;
        let mut records = Vec::new();
        for record in polled {
            records.push(json!({
                "topic": &*record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "delivery_count": record.delivery_count.unwrap_or(0),
                "value": record.value.as_ref().map(|bytes| String::from_utf8_lossy(bytes)),
            }));
            let offset = (record.topic.to_string(), record.partition, record.offset);
            self.in_hand.insert(offset, record);
        }
        Ok(json!({ "records": records }))
    }

    fn acknowledge(&mut self, command: &Value) -> Result<Value, Failure> {
        let topic = command["topic"].as_str().unwrap_or("").to_string();
        let partition = i32::try_from(command["partition"].as_i64().unwrap_or(-1))?;
        let offset = (topic, partition, command["offset"].as_i64().unwrap_or(-1));
        let record = self.in_hand.get(&offset).ok_or("it is not in hand")?;
        let consumer = self.consumer()?;
        match command["type"].as_i64() {
            Some(1) => consumer.ack(record)?,
            Some(2) => consumer.release(record)?,
            Some(3) => consumer.reject(record)?,
            _ => consumer.renew(record)?,
        }
        Ok(json!({}))
    }

    async fn commit(&mut self, time: Duration) -> Result<Value, Failure> {
        let outcomes = timeout(time, self.consumer()?.commit()).await??;
        let results: Vec<Value> = outcomes
            .into_iter()
            .map(|(place, outcome)| {
                json!({
                    "topic": place.topic,
                    "partition": place.partition,
                    "error": outcome.err().map(|error| error.to_string()),
                })
            })
            .collect();
        Ok(json!({ "results": results }))
    }
}

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut driver = Driver::default();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        let mut answer = match runtime.block_on(driver.carry_out(&command)) {
            Ok(answer) => answer,
            Err(error) => json!({ "error": error.to_string() }),
        };
        let completed = std::mem::take(&mut *driver.completed.lock().unwrap());
        answer["completed"] = Value::Array(completed);
        writeln!(out, "{answer}")?;
        out.flush()?;
        if command["do"] == "goodbye" {
            break;
        }
    }
    Ok(())
}
