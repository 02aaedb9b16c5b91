//! A driver for krabka-client-consumer's share consumer; docs/verify-client.md has the commands.

use std::collections::HashMap;
use std::time::Duration;

use krabka_client_consumer::{
    ShareAckMode, ShareAckType, ShareAcquireMode, ShareConsumer, ShareConsumerRecord,
};
use krabka_units::Time;
use krabka_units::convert::TimeExt;
use rustdriver::{Driver, Failure, Offset, Settings, record, run};
use serde_json::{Value, json};

/// The release in Cargo.toml.
const VERSION: &str = "0.7.1";

#[derive(Default)]
struct Krabka {
    settings: Settings,
    consumer: Option<ShareConsumer>,
    in_hand: HashMap<Offset, ShareConsumerRecord>,
}

impl Krabka {
    fn consumer(&mut self) -> Result<&mut ShareConsumer, Failure> {
        self.consumer.as_mut().ok_or_else(|| "no client is open".into())
    }
}

/// The next poll sends what was acknowledged, but for renewals.
impl Driver for Krabka {
    fn hello(&self) -> Value {
        json!({
            "name": format!("krabka-client-consumer {VERSION}"),
            "callbacks": false,
            "renews": true,
            "resubscribes": false,
            "acquire_modes": ["batch_optimized", "record_limit"],
            "modes": ["implicit", "explicit"],
        })
    }

    async fn open(&mut self, settings: Settings) -> Result<(), Failure> {
        self.in_hand.clear();
        self.settings = settings; // Its builder subscribes, and connects.
        Ok(())
    }

    async fn subscribe(&mut self, topics: Vec<String>) -> Result<(), Failure> {
        if self.consumer.is_some() {
            return Err("its subscription cannot change".into());
        }
        let settings = &self.settings;
        let mode = match settings.is_explicit() {
            true => ShareAckMode::Explicit,
            false => ShareAckMode::Implicit,
        };
        let acquire = match settings.is_record_limit() {
            true => ShareAcquireMode::RecordLimit,
            false => ShareAcquireMode::BatchOptimized,
        };
        let consumer = ShareConsumer::builder()
            .bootstrap(settings.bootstrap.clone())
            .client_id("sharespec")
            .group_id(settings.group.clone())
            .subscribe(topics)
            .ack_mode(mode)
            .acquire_mode(acquire)
            .fetch_max_records(settings.max_poll_records)
            .build()
            .await?;
        self.consumer = Some(consumer);
        Ok(())
    }

    async fn poll(&mut self, time: Duration) -> Result<Vec<Value>, Failure> {
        let time = Time::from_millis(i64::try_from(time.as_millis())?);
        let mut records = Vec::new();
        for each in self.consumer()?.poll(time).await? {
            let offset = (each.topic.clone(), each.partition, each.offset);
            records.push(record(&offset, each.delivery_count, each.value.as_deref()));
            self.in_hand.insert(offset, each);
        }
        Ok(records)
    }

    async fn acknowledge(&mut self, offset: Offset, kind: i64) -> Result<(), Failure> {
        let record = self.in_hand.get(&offset).ok_or("it is not in hand")?;
        let consumer = self.consumer.as_mut().ok_or("no client is open")?;
        match kind {
            1 => consumer.acknowledge(record, ShareAckType::Accept)?,
            2 => consumer.acknowledge(record, ShareAckType::Release)?,
            3 => consumer.acknowledge(record, ShareAckType::Reject)?,
            _ => consumer.renew(record).await?, // It is sent at once.
        }
        Ok(())
    }

    /// Commit, for which the client has no timeout and no results.
    async fn commit(&mut self, _time: Duration) -> Result<Option<Vec<Value>>, Failure> {
        self.consumer()?.commit().await?;
        Ok(None)
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.in_hand.clear();
        if let Some(mut consumer) = self.consumer.take() {
            consumer.close().await?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Failure> {
    run(Krabka::default())
}
