//! Runs one broker of crabka on 127.0.0.1 until its standard input closes.
//!
//! Arguments are configurations, each as NAME=VALUE: those of crabka's share groups under the names
//! that Apache Kafka gives them. Once the broker listens, a line says its address and the version of
//! crabka-broker. What it keeps goes to a directory of its own, which ends with it.

use std::time::Duration;

use crabka_broker::{Broker, BrokerConfig};
use tokio::io::AsyncReadExt;

const NAMES: [&str; 3] = [
    "group.share.record.lock.duration.ms",
    "group.share.delivery.count.limit",
    "group.share.partition.max.record.locks",
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let mut config = BrokerConfig::for_tests(directory.path().to_owned());
    config.share_coordinator.state_topic_replication_factor = 1;
    for argument in std::env::args().skip(1) {
        configure(&mut config, &argument)?;
    }
    // What clients are told must be known before it starts, so that the port is chosen here.
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    config.listen_addr = port;
    config.advertised_listener = port.to_string();
    let broker = Broker::start(config).await?;
    println!("{} {}", broker.listen_addr(), sharespec_crabka::version());
    let mut rest = Vec::new();
    tokio::io::stdin().read_to_end(&mut rest).await?;
    broker.shutdown().await;
    Ok(())
}

fn configure(config: &mut BrokerConfig, argument: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (name, value) = argument
        .split_once('=')
        .ok_or(format!("{argument:?} is not NAME=VALUE"))?;
    let share = &mut config.share_group;
    match NAMES.iter().position(|known| *known == name) {
        Some(0) => share.record_lock_duration = Duration::from_millis(value.parse()?),
        Some(1) => share.max_delivery_attempts = value.parse()?,
        Some(2) => share.max_inflight_records = value.parse()?,
        _ => return Err(format!("{name} is not one of {}", NAMES.join(", ")).into()),
    }
    Ok(())
}
