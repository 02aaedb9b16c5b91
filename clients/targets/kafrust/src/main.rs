//! A driver for kafrust's share consumer; docs/verify-client.md has the commands.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use kafrust::Error;
use kafrust::share_consumer::{
    ShareAcknowledgementMode, ShareAcknowledgementType, ShareAcquireMode, ShareConsumer, ShareConsumerConfig,
    ShareRecord,
};
use rustdriver::{Driver, Failure, Offset, Settings, outcome, record, run};
use serde_json::{Value, json};

/// The release in Cargo.toml.
const VERSION: &str = "0.5.0";

#[derive(Default)]
struct Kafrust {
    settings: Settings,
    consumer: Option<ShareConsumer>,
    in_hand: HashMap<Offset, ShareRecord>,
    said: BTreeSet<(String, i32)>,
}

impl Kafrust {
    fn consumer(&mut self) -> Result<&mut ShareConsumer, Failure> {
        self.consumer.as_mut().ok_or_else(|| "no client is open".into())
    }

    /// Pass a result on; where an outcome is unknown do first what the documentation asks for.
    async fn reconciled<T>(&mut self, result: kafrust::Result<T>) -> Result<T, Failure> {
        if let Err(Error::ShareAcknowledgementOutcomeUnknown { .. }) = &result {
            self.consumer()?.reconcile_acknowledgement_outcomes().await?;
        }
        Ok(result?)
    }
}

impl Driver for Kafrust {
    fn hello(&self) -> Value {
        json!({
            "name": format!("kafrust {VERSION}"),
            "renews": true,
            "acquire_modes": ["batch_optimized", "record_limit"],
            "modes": ["implicit", "explicit"],
        })
    }

    async fn open(&mut self, settings: Settings) -> Result<(), Failure> {
        *self = Kafrust { settings, ..Kafrust::default() };
        Ok(())
    }

    /// Join the group: the topics are given as the consumer is made, and stay as they are.
    async fn subscribe(&mut self, topics: Vec<String>) -> Result<(), Failure> {
        let settings = &self.settings;
        let mode = match settings.is_explicit() {
            true => ShareAcknowledgementMode::Explicit,
            false => ShareAcknowledgementMode::Implicit,
        };
        let acquire = match settings.is_record_limit() {
            true => ShareAcquireMode::RecordLimit,
            false => ShareAcquireMode::BatchOptimized,
        };
        let mut consumer = ShareConsumerConfig::new(settings.bootstrap.split(','), settings.group.clone())
            .client_id("sharespec")
            .subscribe_topics(topics.iter().map(String::as_str))
            .acknowledgement_mode(mode)
            .acquire_mode(acquire)
            .max_records(settings.max_poll_records)
            .build()
            .await?;
        // As its documentation advises where polls may be far apart; brokers give the interval.
        consumer.spawn_heartbeat_task(Duration::from_secs(5)).await?;
        self.consumer = Some(consumer);
        Ok(())
    }

    /// Poll until something comes; one poll of the client waits for 500 ms at each broker.
    async fn poll(&mut self, time: Duration) -> Result<Vec<Value>, Failure> {
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
        for each in polled {
            let offset = (each.topic().to_string(), each.partition(), each.offset());
            records.push(record(&offset, each.delivery_count(), each.value()));
            self.in_hand.insert(offset, each);
        }
        Ok(records)
    }

    async fn acknowledge(&mut self, offset: Offset, kind: i64) -> Result<(), Failure> {
        let record = self.in_hand.get(&offset).ok_or("it is not in hand")?.clone();
        let said = match kind {
            1 => ShareAcknowledgementType::Accept,
            2 => ShareAcknowledgementType::Release,
            3 => ShareAcknowledgementType::Reject,
            _ => ShareAcknowledgementType::Renew,
        };
        self.consumer()?.acknowledge(&record, said)?;
        self.said.insert((offset.0, offset.1));
        Ok(())
    }

    /// Commit, which succeeds or fails as a whole.
    async fn commit(&mut self, _time: Duration) -> Result<Option<Vec<Value>>, Failure> {
        let result = self.consumer()?.commit().await;
        self.reconciled(result).await?;
        let told = std::mem::take(&mut self.said);
        Ok(Some(told.iter().map(|(topic, partition)| outcome(topic, *partition, None)).collect()))
    }

    /// Commit: the client has no other way.
    async fn commit_async(&mut self) -> Result<(), Failure> {
        self.commit(Duration::ZERO).await.map(drop)
    }

    async fn close(&mut self) -> Result<(), Failure> {
        if let Some(mut consumer) = self.consumer.take() {
            consumer.close().await?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Failure> {
    run(Kafrust::default())
}
