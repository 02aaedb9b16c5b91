//! A driver for kacrab's share consumer; docs/verify-client.md has the commands.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kacrab::consumer::{AcknowledgeType, ShareConsumer, ShareRecord};
use rustdriver::{Driver, Failure, Offset, Settings, completion, outcome, record, run};
use serde_json::{Value, json};

/// The release in Cargo.toml.
const VERSION: &str = "0.4.0";

type Place = (String, i32);

/// What the callback says of a partition; it names no offsets.
struct Verdict {
    place: Place,
    error: Option<String>,
}

/// A client, what the application has in hand, and what it acknowledged since the last call that sends:
/// an error of a partition is taken for all of it.
#[derive(Default)]
struct Kacrab {
    consumer: Option<ShareConsumer>,
    implicit: bool,
    in_hand: HashMap<Offset, ShareRecord>,
    sent: HashMap<Place, Vec<i64>>,
    verdicts: Arc<Mutex<Vec<Verdict>>>,
    completed: Vec<Value>,
}

impl Kacrab {
    fn consumer(&mut self) -> Result<&mut ShareConsumer, Failure> {
        self.consumer.as_mut().ok_or_else(|| "no client is open".into())
    }

    /// Return what the callback said in a call that settled what was acknowledged, and note it.
    fn settled(&mut self) -> Vec<Verdict> {
        let sent = std::mem::take(&mut self.sent);
        let verdicts = std::mem::take(&mut *self.verdicts.lock().unwrap());
        for Verdict { place, error } in &verdicts {
            let offsets = sent.get(place).cloned().unwrap_or_default();
            self.completed.push(completion(&place.0, place.1, offsets, error.clone()));
        }
        verdicts
    }
}

impl Driver for Kacrab {
    fn hello(&self) -> Value {
        json!({
            "name": format!("kacrab {VERSION}"),
            "callbacks": true,
            "renews": true,
            "resubscribes": true,
            "acquire_modes": ["batch_optimized", "record_limit"],
            "modes": ["implicit", "explicit"],
            "without": ["tells-every-success-once"],
        })
    }

    async fn open(&mut self, settings: Settings) -> Result<(), Failure> {
        let implicit = !settings.is_explicit();
        let mut consumer = ShareConsumer::from_map([
            ("bootstrap.servers", settings.bootstrap),
            ("client.id", "sharespec".to_string()),
            ("group.id", settings.group),
            ("max.poll.records", settings.max_poll_records.to_string()),
            ("share.acknowledgement.mode", settings.mode),
            ("share.acquire.mode", settings.acquire_mode),
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
        self.implicit = implicit;
        self.consumer = Some(consumer);
        Ok(())
    }

    async fn subscribe(&mut self, topics: Vec<String>) -> Result<(), Failure> {
        Ok(self.consumer()?.subscribe(topics.iter().map(String::as_str))?)
    }

    async fn poll(&mut self, time: Duration) -> Result<Vec<Value>, Failure> {
        let polled = self.consumer()?.poll(time).await?;
        self.settled();
        let mut records = Vec::new();
        for each in polled {
            let of = &each.record;
            let offset = (of.topic.to_string(), of.partition, of.offset);
            records.push(record(&offset, each.delivery_count, of.value.as_deref()));
            if self.implicit {
                self.sent.entry((offset.0.clone(), offset.1)).or_default().push(offset.2);
            }
            self.in_hand.insert(offset, each);
        }
        Ok(records)
    }

    async fn acknowledge(&mut self, offset: Offset, kind: i64) -> Result<(), Failure> {
        let record = self.in_hand.get(&offset).ok_or("it is not in hand")?;
        let consumer = self.consumer.as_mut().ok_or("no client is open")?;
        let said = match kind {
            1 => AcknowledgeType::Accept,
            2 => AcknowledgeType::Release,
            3 => AcknowledgeType::Reject,
            _ => AcknowledgeType::Renew,
        };
        consumer.acknowledge(record, said)?;
        self.sent.entry((offset.0, offset.1)).or_default().push(offset.2);
        Ok(())
    }

    async fn commit(&mut self, time: Duration) -> Result<Option<Vec<Value>>, Failure> {
        self.consumer()?.commit_timeout(time).await?;
        let verdicts = self.settled().into_iter();
        Ok(Some(verdicts.map(|Verdict { place, error }| outcome(&place.0, place.1, error)).collect()))
    }

    async fn commit_async(&mut self) -> Result<(), Failure> {
        Ok(self.consumer()?.commit_async()?)
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.in_hand.clear();
        if let Some(consumer) = self.consumer.take() {
            consumer.close().await;
        }
        self.settled();
        Ok(())
    }

    fn completed(&mut self) -> Option<Vec<Value>> {
        Some(std::mem::take(&mut self.completed))
    }
}

fn main() -> Result<(), Failure> {
    run(Kacrab::default())
}
