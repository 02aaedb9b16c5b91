//! A driver for kacrab's share consumer; docs/verify-client.md has the commands.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kacrab::consumer::{AcknowledgeType, ShareConsumer, ShareRecord};
use serde_json::{Value, json};

/// The release in Cargo.toml.
const VERSION: &str = "0.4.0";

type Failure = Box<dyn std::error::Error>;
type Place = (String, i32);

/// What the callback says of a partition; it names no offsets.
struct Verdict {
    place: Place,
    error: Option<String>,
}

/// A client, what the application has in hand, and what it acknowledged since the last call that sends:
/// an error of a partition is taken for all of it.
#[derive(Default)]
struct Driver {
    consumer: Option<ShareConsumer>,
    implicit: bool,
    in_hand: HashMap<(Place, i64), ShareRecord>,
    sent: HashMap<Place, Vec<i64>>,
    verdicts: Arc<Mutex<Vec<Verdict>>>,
    completed: Vec<Value>,
}

impl Driver {
    async fn carry_out(&mut self, command: &Value) -> Result<Value, Failure> {
        let time = Duration::from_millis(command["timeout_ms"].as_u64().unwrap_or(0));
        match command["do"].as_str().unwrap_or("") {
            "hello" => Ok(json!({
                "protocol": 1,
                "name": format!("kacrab {VERSION}"),
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
                self.consumer()?.subscribe(names)?;
                Ok(json!({}))
            }
            "poll" => self.poll(time).await,
            "acknowledge" => self.acknowledge(command),
            "commit" => self.commit(time).await,
            "commit_async" => {
                self.consumer()?.commit_async()?;
                Ok(json!({}))
            }
            "close" => {
                self.in_hand.clear();
                if let Some(consumer) = self.consumer.take() {
                    consumer.close().await;
                }
                self.settled();
                Ok(json!({}))
            }
            "goodbye" => Ok(json!({})),
            other => Err(format!("no such command: {other}").into()),
        }
    }

    fn consumer(&mut self) -> Result<&mut ShareConsumer, Failure> {
        self.consumer.as_mut().ok_or_else(|| "no client is open".into())
    }

    async fn open(&mut self, command: &Value) -> Result<Value, Failure> {
        let text = |name: &str| command[name].as_str().unwrap_or("").to_string();
        let most = command["max_poll_records"].as_i64().unwrap_or(500).to_string();
        let mut consumer = ShareConsumer::from_map([
            ("bootstrap.servers", text("bootstrap")),
            ("client.id", "sharespec".to_string()),
            ("group.id", text("group")),
            ("max.poll.records", most),
            ("share.acknowledgement.mode", text("mode")),
            ("share.acquire.mode", text("acquire_mode")),
        ])
        .await?;
        let verdicts = Arc::clone(&self.verdicts);
        consumer.set_acknowledgement_commit_callback(move |told| {
            let told = told.iter().map(|(place, outcome)| Verdict {
                place: (place.topic.to_string(), place.partition),
                error: outcome.as_ref().err().map(ToString::to_string),
            });
            verdicts.lock().unwrap().extend(told);
        });
        self.in_hand.clear();
        self.sent.clear();
        self.implicit = text("mode") == "implicit";
        self.consumer = Some(consumer);
        Ok(json!({}))
    }

    async fn poll(&mut self, time: Duration) -> Result<Value, Failure> {
        let polled = self.consumer()?.poll(time).await?;
        self.settled();
        let mut records = Vec::new();
        for delivered in polled {
            let record = &delivered.record;
            records.push(json!({
                "topic": &*record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "delivery_count": delivered.delivery_count,
                "value": record.value.as_ref().map(|bytes| String::from_utf8_lossy(bytes)),
            }));
            let place = (record.topic.to_string(), record.partition);
            if self.implicit {
                self.sent.entry(place.clone()).or_default().push(record.offset);
            }
            self.in_hand.insert((place, record.offset), delivered);
        }
        Ok(json!({ "records": records }))
    }

    fn acknowledge(&mut self, command: &Value) -> Result<Value, Failure> {
        let topic = command["topic"].as_str().unwrap_or("").to_string();
        let place = (topic, i32::try_from(command["partition"].as_i64().unwrap_or(-1))?);
        let offset = command["offset"].as_i64().unwrap_or(-1);
        let key = (place.clone(), offset);
        let record = self.in_hand.get(&key).ok_or("it is not in hand")?;
        let consumer = self.consumer.as_mut().ok_or("no client is open")?;
        let kind = match command["type"].as_i64() {
            Some(1) => AcknowledgeType::Accept,
            Some(2) => AcknowledgeType::Release,
            Some(3) => AcknowledgeType::Reject,
            _ => AcknowledgeType::Renew,
        };
        consumer.acknowledge(record, kind)?;
        self.sent.entry(place).or_default().push(offset);
        Ok(json!({}))
    }

    async fn commit(&mut self, time: Duration) -> Result<Value, Failure> {
        self.consumer()?.commit_timeout(time).await?;
        let verdicts = self.settled();
        let results: Vec<Value> = verdicts
            .into_iter()
            .map(|Verdict { place: (topic, partition), error }| {
                json!({ "topic": topic, "partition": partition, "error": error })
            })
            .collect();
        Ok(json!({ "results": results }))
    }

    /// Return what the callback said in a call that settled what was acknowledged, and note it.
    fn settled(&mut self) -> Vec<Verdict> {
        let sent = std::mem::take(&mut self.sent);
        let verdicts = std::mem::take(&mut *self.verdicts.lock().unwrap());
        for Verdict { place, error } in &verdicts {
            self.completed.push(json!({
                "topic": place.0,
                "partition": place.1,
                "offsets": sent.get(place).cloned().unwrap_or_default(),
                "error": error,
            }));
        }
        verdicts
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
        answer["completed"] = Value::Array(std::mem::take(&mut driver.completed));
        writeln!(out, "{answer}")?;
        out.flush()?;
        if command["do"] == "goodbye" {
            break;
        }
    }
    Ok(())
}
