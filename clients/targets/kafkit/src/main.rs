//! A driver for kafkit-client's share consumer; docs/verify-client.md has the commands.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafkit_client::{
    AcknowledgeType, ConsumerConfig, KafkaShareConsumer, ShareAcquireMode, ShareConsumerOptions, ShareRecord,
};
use rustdriver::{Driver, Failure, Offset, Settings, completion, record, run};
use serde_json::{Value, json};
use tokio::time::timeout;

/// The release in Cargo.toml.
const VERSION: &str = "0.1.9";

#[derive(Default)]
struct Kafkit {
    consumer: Option<KafkaShareConsumer>,
    in_hand: HashMap<Offset, ShareRecord>,
    unsaid: HashSet<Offset>,
    completed: Arc<Mutex<Vec<Value>>>,
}

impl Kafkit {
    fn consumer(&mut self) -> Result<&mut KafkaShareConsumer, Failure> {
        self.consumer.as_mut().ok_or_else(|| "no client is open".into())
    }
}

/// The next poll sends what was acknowledged.
impl Driver for Kafkit {
    fn hello(&self) -> Value {
        json!({
            "name": format!("kafkit-client {VERSION}"),
            "callbacks": true,
            "renews": false,
            "resubscribes": true,
            "acquire_modes": ["batch_optimized", "record_limit"],
            "modes": ["explicit"],
        })
    }

    async fn open(&mut self, settings: Settings) -> Result<(), Failure> {
        let acquire = match settings.is_record_limit() {
            true => ShareAcquireMode::RecordLimit,
            false => ShareAcquireMode::BatchOptimized,
        };
        let completed = Arc::clone(&self.completed);
        let options = ShareConsumerOptions::default()
            .with_share_acquire_mode(acquire)
            .with_max_poll_records(settings.max_poll_records)
            .with_acknowledgement_commit_callback(move |commits| {
                let told = commits
                    .into_iter()
                    .map(|each| completion(&each.topic, each.partition, each.offsets, each.error));
                completed.lock().unwrap().extend(told);
            });
        let brokers: Vec<String> = settings.bootstrap.split(',').map(str::to_string).collect();
        let config = ConsumerConfig::new(brokers[0].clone(), settings.group).with_bootstrap_servers(brokers);
        self.in_hand.clear();
        self.unsaid.clear();
        self.consumer = Some(KafkaShareConsumer::connect_with_options(config, options).await?);
        Ok(())
    }

    async fn subscribe(&mut self, topics: Vec<String>) -> Result<(), Failure> {
        Ok(self.consumer()?.subscribe(topics).await?)
    }

    /// Poll, as an application does that has answered for all that it was given before.
    async fn poll(&mut self, time: Duration) -> Result<Vec<Value>, Failure> {
        if !self.unsaid.is_empty() {
            return Err("records are unacknowledged".into());
        }
        let polled = self.consumer()?.poll_for(time).await?;
        let mut records = Vec::new();
        for each in polled.into_inner() {
            let of = &each.record;
            let offset = (of.topic.clone(), of.partition, of.offset);
            records.push(record(&offset, each.delivery_count, of.value.as_deref()));
            self.unsaid.insert(offset.clone());
            self.in_hand.insert(offset, each);
        }
        Ok(records)
    }

    async fn acknowledge(&mut self, offset: Offset, kind: i64) -> Result<(), Failure> {
        let record = self.in_hand.remove(&offset).ok_or("it is not in hand")?;
        self.unsaid.remove(&offset);
        let said = match kind {
            1 => AcknowledgeType::Accept,
            2 => AcknowledgeType::Release,
            _ => AcknowledgeType::Reject,
        };
        self.consumer()?.acknowledge(&record, said);
        Ok(())
    }

    /// Commit; what became of it the callback alone tells of each partition.
    async fn commit(&mut self, time: Duration) -> Result<Option<Vec<Value>>, Failure> {
        let before = self.completed.lock().unwrap().len();
        timeout(time, self.consumer()?.commit_sync()).await??;
        let mut told = self.completed.lock().unwrap()[before..].to_vec();
        for each in &mut told {
            each.as_object_mut().map(|fields| fields.remove("offsets"));
        }
        Ok(Some(told))
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.in_hand.clear();
        self.unsaid.clear();
        if let Some(consumer) = self.consumer.take() {
            consumer.shutdown().await?;
        }
        Ok(())
    }

    fn completed(&mut self) -> Option<Vec<Value>> {
        Some(std::mem::take(&mut *self.completed.lock().unwrap()))
    }
}

fn main() -> Result<(), Failure> {
    run(Kafkit::default())
}
