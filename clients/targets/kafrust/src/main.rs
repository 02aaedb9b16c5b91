//! A driver for kafrust's share consumer; docs/verify-client.md has the commands.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use kafrust::Error;
use kafrust::share_consumer::{
    ShareAcknowledgementMode, ShareAcknowledgementType, ShareAcquireMode, ShareConsumer, ShareConsumerConfig,
    ShareRecord,
};
use serde_json::{Value, json};

/// The release in Cargo.toml.
const VERSION: &str = "0.5.0";

type Failure = Box<dyn std::error::Error>;
type Offset = (String, i32, i64);

#[derive(Default)]
struct Driver {
    settings: Value,
    consumer: Option<ShareConsumer>,
    in_hand: HashMap<Offset, ShareRecord>,
    said: BTreeSet<(String, i32)>,
}

impl Driver {
    async fn carry_out(&mut self, command: &Value) -> Result<Value, Failure> {
        match command["do"].as_str().unwrap_or("") {
            "hello" => Ok(json!({
                "protocol": 1,
                "name": format!("kafrust {VERSION}"),
                "renews": true,
                "acquire_modes": ["batch_optimized", "record_limit"],
                "modes": ["implicit", "explicit"],
            })),
            "open" => {
                *self = Driver { settings: command.clone(), ..Driver::default() };
                Ok(json!({}))
            }
            "subscribe" => self.subscribe(command).await,
            "poll" => self.poll(Duration::from_millis(command["timeout_ms"].as_u64().unwrap_or(0))).await,
            "acknowledge" => self.acknowledge(command),
            "commit" => self.commit().await,
            "commit_async" => self.commit().await.map(|_| json!({})), // There is one commit.
            "close" => {
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

    /// Join the group: the topics are given as the consumer is made, and stay as they are.
    async fn subscribe(&mut self, command: &Value) -> Result<Value, Failure> {
        let text = |name: &str| self.settings[name].as_str().unwrap_or("").to_string();
        let mode = match text("mode").as_str() {
            "explicit" => ShareAcknowledgementMode::Explicit,
            _ => ShareAcknowledgementMode::Implicit,
        };
        let acquire = match text("acquire_mode").as_str() {
            "record_limit" => ShareAcquireMode::RecordLimit,
            _ => ShareAcquireMode::BatchOptimized,
        };
        let most = i32::try_from(self.settings["max_poll_records"].as_i64().unwrap_or(500))?;
        let topics = command["topics"].as_array().ok_or("no topics")?;
        let mut consumer = ShareConsumerConfig::new(text("bootstrap").split(','), text("group"))
            .client_id("sharespec")
            .subscribe_topics(topics.iter().filter_map(Value::as_str))
            .acknowledgement_mode(mode)
            .acquire_mode(acquire)
            .max_records(most)
            .build()
            .await?;
        // As its documentation advises where polls may be far apart; brokers give the interval.
        consumer.spawn_heartbeat_task(Duration::from_secs(5)).await?;
        self.consumer = Some(consumer);
        Ok(json!({}))
    }

    /// Poll until something comes; one poll of the client waits for 500 ms at each broker.
    async fn poll(&mut self, time: Duration) -> Result<Value, Failure> {
        let end = Instant::now() + time;
        let mut polled = Vec::new();
        while polled.is_empty() {
            let result = self.consumer()?.poll().await;
            polled = self.reconciled(result).await?;
            if Instant::now() >= end {
                break;
            }
        }
        let mut records = Vec::new();
        for record in polled {
            records.push(json!({
                "topic": record.topic(),
                "partition": record.partition(),
                "offset": record.offset(),
                "delivery_count": record.delivery_count(),
                "value": record.value().map(String::from_utf8_lossy),
            }));
            let offset = (record.topic().to_string(), record.partition(), record.offset());
            self.in_hand.insert(offset, record);
        }
        Ok(json!({ "records": records }))
    }

    fn acknowledge(&mut self, command: &Value) -> Result<Value, Failure> {
        let topic = command["topic"].as_str().unwrap_or("").to_string();
        let partition = i32::try_from(command["partition"].as_i64().unwrap_or(-1))?;
        let offset = (topic, partition, command["offset"].as_i64().unwrap_or(-1));
        let record = self.in_hand.get(&offset).ok_or("it is not in hand")?.clone();
        let said = match command["type"].as_i64() {
            Some(1) => ShareAcknowledgementType::Accept,
            Some(2) => ShareAcknowledgementType::Release,
            Some(3) => ShareAcknowledgementType::Reject,
            _ => ShareAcknowledgementType::Renew,
        };
        self.consumer()?.acknowledge(&record, said)?;
        self.said.insert((offset.0, partition));
        Ok(json!({}))
    }

    /// Commit, which succeeds or fails as a whole.
    async fn commit(&mut self) -> Result<Value, Failure> {
        let result = self.consumer()?.commit().await;
        self.reconciled(result).await?;
        let told = std::mem::take(&mut self.said);
        let results: Vec<Value> =
            told.iter().map(|(topic, partition)| json!({"topic": topic, "partition": partition})).collect();
        Ok(json!({ "results": results }))
    }

    /// Pass a result on; where an outcome is unknown do first what the documentation asks for.
    async fn reconciled<T>(&mut self, result: kafrust::Result<T>) -> Result<T, Failure> {
        if let Err(Error::ShareAcknowledgementOutcomeUnknown { .. }) = &result {
            self.consumer()?.reconcile_acknowledgement_outcomes().await?;
        }
        Ok(result?)
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
