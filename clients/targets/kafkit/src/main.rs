//! A driver for kafkit-client's share consumer; docs/verify-client.md has the commands.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafkit_client::{
    AcknowledgeType, ConsumerConfig, KafkaShareConsumer, ShareAcquireMode, ShareConsumerOptions, ShareRecord,
};
use serde_json::{Value, json};
use tokio::time::timeout;

/// The release in Cargo.toml.
const VERSION: &str = "0.1.9";

type Failure = Box<dyn std::error::Error>;
type Offset = (String, i32, i64);

#[derive(Default)]
struct Driver {
    consumer: Option<KafkaShareConsumer>,
    in_hand: HashMap<Offset, ShareRecord>,
    unsaid: HashSet<Offset>,
    completed: Arc<Mutex<Vec<Value>>>,
}

impl Driver {
    async fn carry_out(&mut self, command: &Value) -> Result<Value, Failure> {
        let time = Duration::from_millis(command["timeout_ms"].as_u64().unwrap_or(0));
        match command["do"].as_str().unwrap_or("") {
            "hello" => Ok(json!({
                "protocol": 1,
                "name": format!("kafkit-client {VERSION}"),
                "callbacks": true,
                "renews": false,
                "resubscribes": true,
                "acquire_modes": ["batch_optimized", "record_limit"],
                "modes": ["explicit"],
            })),
            "open" => self.open(command).await,
            "subscribe" => {
                let topics = command["topics"].as_array().ok_or("no topics")?;
                let names = topics.iter().filter_map(Value::as_str).map(str::to_string).collect();
                self.consumer()?.subscribe(names).await?;
                Ok(json!({}))
            }
            "poll" => self.poll(time).await,
            "acknowledge" => self.acknowledge(command),
            "commit" => self.commit(time).await,
            "commit_async" => Ok(json!({})), // The next poll sends what was acknowledged.
            "close" => {
                self.in_hand.clear();
                self.unsaid.clear();
                if let Some(consumer) = self.consumer.take() {
                    consumer.shutdown().await?;
                }
                Ok(json!({}))
            }
            "goodbye" => Ok(json!({})),
            other => Err(format!("no such command: {other}").into()),
        }
    }

    fn consumer(&mut self) -> Result<&mut KafkaShareConsumer, Failure> {
        self.consumer.as_mut().ok_or_else(|| "no client is open".into())
    }

    async fn open(&mut self, command: &Value) -> Result<Value, Failure> {
        let text = |name: &str| command[name].as_str().unwrap_or("").to_string();
        let acquire = match text("acquire_mode").as_str() {
            "record_limit" => ShareAcquireMode::RecordLimit,
            _ => ShareAcquireMode::BatchOptimized,
        };
        let most = i32::try_from(command["max_poll_records"].as_i64().unwrap_or(500))?;
        let completed = Arc::clone(&self.completed);
        let options = ShareConsumerOptions::default()
            .with_share_acquire_mode(acquire)
            .with_max_poll_records(most)
            .with_acknowledgement_commit_callback(move |commits| {
                let mut told = completed.lock().unwrap();
                told.extend(commits.into_iter().map(|commit| {
                    json!({
                        "topic": commit.topic,
                        "partition": commit.partition,
                        "offsets": commit.offsets,
                        "error": commit.error,
                    })
                }));
            });
        let brokers: Vec<String> = text("bootstrap").split(',').map(str::to_string).collect();
        let config = ConsumerConfig::new(brokers[0].clone(), text("group")).with_bootstrap_servers(brokers);
        self.in_hand.clear();
        self.unsaid.clear();
        self.consumer = Some(KafkaShareConsumer::connect_with_options(config, options).await?);
        Ok(json!({}))
    }

    /// Poll, as an application does that has answered for all that it was given before.
    async fn poll(&mut self, time: Duration) -> Result<Value, Failure> {
        if !self.unsaid.is_empty() {
            return Err("records are unacknowledged".into());
        }
        let polled = self.consumer()?.poll_for(time).await?;
        let mut records = Vec::new();
        for each in polled.into_inner() {
            let record = &each.record;
            records.push(json!({
                "topic": record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "delivery_count": each.delivery_count,
                "value": record.value.as_ref().map(|bytes| String::from_utf8_lossy(bytes)),
            }));
            let offset = (record.topic.clone(), record.partition, record.offset);
            self.unsaid.insert(offset.clone());
            self.in_hand.insert(offset, each);
        }
        Ok(json!({ "records": records }))
    }

    fn acknowledge(&mut self, command: &Value) -> Result<Value, Failure> {
        let topic = command["topic"].as_str().unwrap_or("").to_string();
        let partition = i32::try_from(command["partition"].as_i64().unwrap_or(-1))?;
        let offset = (topic, partition, command["offset"].as_i64().unwrap_or(-1));
        let record = self.in_hand.remove(&offset).ok_or("it is not in hand")?;
        self.unsaid.remove(&offset);
        let said = match command["type"].as_i64() {
            Some(1) => AcknowledgeType::Accept,
            Some(2) => AcknowledgeType::Release,
            _ => AcknowledgeType::Reject,
        };
        self.consumer()?.acknowledge(&record, said);
        Ok(json!({}))
    }

    /// Commit; what became of it the callback alone tells of each partition.
    async fn commit(&mut self, time: Duration) -> Result<Value, Failure> {
        let before = self.completed.lock().unwrap().len();
        timeout(time, self.consumer()?.commit_sync()).await??;
        let told = self.completed.lock().unwrap();
        let results: Vec<Value> = told[before..]
            .iter()
            .map(|each| json!({"topic": each["topic"], "partition": each["partition"], "error": each["error"]}))
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
