// A driver for the share consumer of the npm package @kafkats/client; docs/verify-client.md has the
// commands. It hands records to a function and acknowledges what that does not; so the function
// waits here until the application has acknowledged the record.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { KafkaClient } from "@kafkats/client";

const { version } = JSON.parse(
  readFileSync(new URL("node_modules/@kafkats/client/package.json", import.meta.url), "utf8"),
);
const SAYS = { 1: "ack", 2: "release", 3: "reject", 4: "renew" };
const RENEW = 4;

let client, consumer, running, failure, most;
let arrived = []; // what the function was given and no poll has returned
const inHand = new Map(); // what a poll has returned and is not acknowledged, with how to go on
const outstanding = new Set(); // acknowledgements that are not settled
let completed = [];
let refused = new Map(); // the first error of each partition since the last commit

const key = (topic, partition, offset) => `${topic}/${partition}/${offset}`;
const named = (error) => `${error.name}: ${error.message}`.slice(0, 250);
const until = (promise, ms) =>
  Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms))]);

function acknowledge(item, type) {
  const { topic, partition, offset } = item.message;
  const settled = item.message[SAYS[type]]().then(
    () => null,
    (error) => named(error),
  );
  const noted = settled.then((error) => {
    completed.push({ topic, partition, offsets: [Number(offset)], error });
    const place = key(topic, partition, "");
    if (error !== null || !refused.has(place)) refused.set(place, { topic, partition, error });
    outstanding.delete(noted);
  });
  outstanding.add(noted);
  if (type !== RENEW) item.goOn();
}

const calls = {
  hello: () => ({
    protocol: 1,
    name: `@kafkats/client ${version}`,
    callbacks: true,
    renews: true,
    modes: ["explicit"],
    acquire_modes: ["batch_optimized", "record_limit"],
    without: ["refuses-a-poll-with-records-unacknowledged"],
  }),

  async open(command) {
    arrived = [];
    inHand.clear();
    refused = new Map();
    failure = undefined;
    most = command.max_poll_records;
    client = new KafkaClient({ clientId: "sharespec", brokers: command.bootstrap.split(",") });
    await client.connect();
    consumer = client.shareConsumer({
      groupId: command.group,
      maxRecords: command.max_poll_records,
      batchSize: command.max_poll_records,
      acquireMode: command.acquire_mode,
      maxWaitMs: 500,
    });
    consumer.on("error", () => {});
    return {};
  },

  subscribe(command) {
    const handler = (message) => new Promise((goOn) => arrived.push({ message, goOn }));
    running = consumer
      .runEach(command.topics, handler, { concurrency: 100000, ackBatchSize: 1 })
      .catch((error) => (failure = error));
    return {};
  },

  async poll(command) {
    // It fetches nothing while its function has records, whatever else the application asks for.
    if (inHand.size > 0) throw new Error("records are unacknowledged");
    const end = Date.now() + command.timeout_ms;
    while (arrived.length === 0 && failure === undefined && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (failure !== undefined) throw failure;
    const items = arrived.splice(0, most);
    const records = items.map((item) => {
      const { topic, partition, offset, deliveryCount, value } = item.message;
      inHand.set(key(topic, partition, offset), item);
      return {
        topic,
        partition,
        offset: Number(offset),
        delivery_count: deliveryCount ?? 0,
        value: value === null ? null : value.toString(),
      };
    });
    return { records };
  },

  acknowledge(command) {
    const name = key(command.topic, command.partition, command.offset);
    const item = inHand.get(name);
    if (item === undefined) throw new Error(`${name} is not in hand`);
    if (command.type !== RENEW) inHand.delete(name);
    acknowledge(item, command.type);
    return {};
  },

  async commit(command) {
    await until(Promise.all(outstanding), command.timeout_ms);
    if (outstanding.size > 0) throw new Error("acknowledgements are not settled in time");
    const results = [...refused.values()];
    refused = new Map();
    return { results };
  },

  commit_async: () => ({}),

  async close() {
    for (const item of [...inHand.values(), ...arrived]) acknowledge(item, 2);
    inHand.clear();
    arrived = [];
    const stopped = consumer.stop();
    await stopped;
    await running;
    await Promise.all(outstanding);
    await client.disconnect();
    return {};
  },

  goodbye: () => ({}),
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = await calls[command.do](command);
  } catch (error) {
    answer = { error: named(error) };
  }
  answer.completed = completed;
  completed = [];
  process.stdout.write(JSON.stringify(answer) + "\n");
  if (command.do === "goodbye") break;
}
// Connections that were not closed would keep the process when its input has ended.
process.exit(0);
