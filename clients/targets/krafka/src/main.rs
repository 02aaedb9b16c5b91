//! A driver for krafka's share consumer; docs/verify-client.md has the commands.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use krafka::Kafka;
use krafka::consumer::ConsumerRecord;
use krafka::share_consumer::{AcknowledgementMode, AcquireMode, ShareConsumer};
use rustdriver::{Driver, Failure, Offset, Settings, completion, outcome, record, run};
use serde_json::{Value, json};
use tokio::time::timeout;

/// The release in Cargo.toml.
const VERSION: &str = "0.28.1";

#[derive(Default)]
struct Krafka {
    consumer: Option<ShareConsumer>,
    in_hand: HashMap<Offset, ConsumerRecord>,
    completed: Arc<Mutex<Vec<Value>>>,
}

impl Krafka {
    fn consumer(&self) -> Result<&ShareConsumer, Failure> {
        self.consumer.as_ref().ok_or_else(|| "no client is open".into())
    }
}

/// Acknowledgements are sent as they are made.
impl Driver for Krafka {
    fn hello(&self) -> Value {
        json!({
            "name": format!("krafka {VERSION}"),
            "callbacks": true,
            "renews": true,
            "resubscribes": true,
            "acquire_modes": ["batch_optimized", "record_limit"],
            "modes": ["implicit", "explicit"],
        })
    }

    async fn open(&mut self, settings: Settings) -> Result<(), Failure> {
        let mode = match settings.is_explicit() {
            true => AcknowledgementMode::Explicit,
            false => AcknowledgementMode::Implicit,
        };
        let acquire = match settings.is_record_limit() {
            true => AcquireMode::RecordLimit,
            false => AcquireMode::BatchOptimized,
        };
        let completed = Arc::clone(&self.completed);
        let kafka = Kafka::builder(settings.bootstrap).client_id("sharespec").connect().await?;
        let consumer = kafka
            .share_consumer(settings.group)
            .acknowledgement_mode(mode)
            .acquire_mode(acquire)
            .max_poll_records(settings.max_poll_records)
            .acknowledgement_commit_callback(move |commit| {
                let offsets = commit.offsets.iter().cloned().flatten().collect();
                let error = commit.result.as_ref().err().map(ToString::to_string);
                completed.lock().unwrap().push(completion(&commit.topic, commit.partition, offsets, error));
            })
            .build()
            .await?;
        self.in_hand.clear();
        self.consumer = Some(consumer);
        Ok(())
    }

    async fn subscribe(&mut self, topics: Vec<String>) -> Result<(), Failure> {
        Ok(self.consumer()?.subscribe(topics.iter().map(String::as_str)).await?)
    }

    async fn poll(&mut self, time: Duration) -> Result<Vec<Value>, Failure> {
        let mut records = Vec::new();
        for each in self.consumer()?.poll(time).await? {
            let offset = (each.topic.to_string(), each.partition, each.offset);
            records.push(record(&offset, each.delivery_count.unwrap_or(0), each.value.as_deref()));
            self.in_hand.insert(offset, each);
        }
        Ok(records)
    }

    async fn acknowledge(&mut self, offset: Offset, kind: i64) -> Result<(), Failure> {
        let record = self.in_hand.get(&offset).ok_or("it is not in hand")?;
        let consumer = self.consumer()?;
        match kind {
            1 => consumer.ack(record)?,
            2 => consumer.release(record)?,
            3 => consumer.reject(record)?,
            _ => consumer.renew(record)?,
        }
        Ok(())
    }

    async fn commit(&mut self, time: Duration) -> Result<Option<Vec<Value>>, Failure> {
        let outcomes = timeout(time, self.consumer()?.commit()).await??;
        let results = outcomes.into_iter().map(|(place, result)| {
            outcome(&place.topic, place.partition, result.err().map(|error| error.to_string()))
        });
        Ok(Some(results.collect()))
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.in_hand.clear();
        if let Some(consumer) = self.consumer.take() {
            consumer.close().await?;
        }
        Ok(())
    }

    fn completed(&mut self) -> Option<Vec<Value>> {
        Some(std::mem::take(&mut *self.completed.lock().unwrap()))
    }
}

fn main() -> Result<(), Failure> {
    run(Krafka::default())
}
