//! A driver for krabka-client-consumer's share consumer; docs/verify-client.md has the commands.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use krabka_client_consumer::{
    ShareAckMode, ShareAckType, ShareAcquireMode, ShareConsumer, ShareConsumerRecord,
};
use krabka_units::Time;
use krabka_units::convert::TimeExt;
use serde_json::{Value, json};

/// The release in Cargo.toml.
const VERSION: &str = "0.7.1";

type Failure = Box<dyn std::error::Error>;
type Offset = (String, i32, i64);

#[derive(Default)]
struct Driver {
    settings: Value,
    consumer: Option<ShareConsumer>,
    in_hand: HashMap<Offset, ShareConsumerRecord>,
}

impl Driver {
    async fn carry_out(&mut self, command: &Value) -> Result<Value, Failure> {
        match command["do"].as_str().unwrap_or("") {
            "hello" => Ok(json!({
                "protocol": 1,
                "name": format!("krabka-client-consumer {VERSION}"),
                "callbacks": false,
                "renews": true,
                "resubscribes": false,
                "acquire_modes": ["batch_optimized", "record_limit"],
                "modes": ["implicit", "explicit"],
            })),
            "open" => {
                self.in_hand.clear();
                self.settings = command.clone(); // Its builder subscribes, and connects.
                Ok(json!({}))
            }
            "subscribe" => self.subscribe(command).await,
            "poll" => self.poll(command["timeout_ms"].as_i64().unwrap_or(0)).await,
            "acknowledge" => self.acknowledge(command).await,
            "commit" => {
                self.consumer()?.commit().await?; // It has no timeout and no results.
                Ok(json!({}))
            }
            "commit_async" => Ok(json!({})), // The next poll sends what was acknowledged.
            "close" => {
                self.in_hand.clear();
                if let Some(mut consumer) = self.consumer.take() {
                    consumer.close().await?;
                }
                Ok(json!({}))
            }
            "goodbye" => Ok(json!({})),
            other => Err(format!("no such command: {other}").into()),
        }
    }

    fn consumer(&mut self) -> Result<&mut ShareConsumer, Failure> {
        self.consumer.as_mut().ok_or_else(|| "no client is open".into())
    }

    async fn subscribe(&mut self, command: &Value) -> Result<Value, Failure> {
        if self.consumer.is_some() {
            return Err("its subscription cannot change".into());
        }
        let text = |name: &str| self.settings[name].as_str().unwrap_or("").to_string();
        let mode = match text("mode").as_str() {
            "explicit" => ShareAckMode::Explicit,
            _ => ShareAckMode::Implicit,
        };
        let acquire = match text("acquire_mode").as_str() {
            "record_limit" => ShareAcquireMode::RecordLimit,
            _ => ShareAcquireMode::BatchOptimized,
        };
        let most = i32::try_from(self.settings["max_poll_records"].as_i64().unwrap_or(500))?;
        let topics = command["topics"].as_array().ok_or("no topics")?;
        let names: Vec<String> = topics.iter().filter_map(Value::as_str).map(str::to_string).collect();
        let consumer = ShareConsumer::builder()
            .bootstrap(text("bootstrap"))
            .client_id("sharespec")
            .group_id(text("group"))
            .subscribe(names)
            .ack_mode(mode)
            .acquire_mode(acquire)
            .fetch_max_records(most)
            .build()
            .await?;
        self.consumer = Some(consumer);
        Ok(json!({}))
    }

    async fn poll(&mut self, timeout_ms: i64) -> Result<Value, Failure> {
        let polled = self.consumer()?.poll(Time::from_millis(timeout_ms)).await?;
        let mut records = Vec::new();
        for record in polled {
            records.push(json!({
                "topic": record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "delivery_count": record.delivery_count,
                "value": record.value.as_ref().map(|bytes| String::from_utf8_lossy(bytes)),
            }));
            let offset = (record.topic.clone(), record.partition, record.offset);
            self.in_hand.insert(offset, record);
        }
        Ok(json!({ "records": records }))
    }

    async fn acknowledge(&mut self, command: &Value) -> Result<Value, Failure> {
        let topic = command["topic"].as_str().unwrap_or("").to_string();
        let partition = i32::try_from(command["partition"].as_i64().unwrap_or(-1))?;
        let offset = (topic, partition, command["offset"].as_i64().unwrap_or(-1));
        let record = self.in_hand.get(&offset).ok_or("it is not in hand")?;
        let consumer = self.consumer.as_mut().ok_or("no client is open")?;
        match command["type"].as_i64() {
            Some(1) => consumer.acknowledge(record, ShareAckType::Accept)?,
            Some(2) => consumer.acknowledge(record, ShareAckType::Release)?,
            Some(3) => consumer.acknowledge(record, ShareAckType::Reject)?,
            _ => consumer.renew(record).await?, // It is sent at once.
        }
        Ok(json!({}))
    }
}

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut driver = Driver::default();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        let answer = match runtime.block_on(driver.carry_out(&command)) {
            Ok(answer) => answer,
            Err(error) => json!({ "error": error.to_string() }),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
        if command["do"] == "goodbye" {
            break;
        }
    }
    Ok(())
}
