'use strict';
// A share-partition, and the driver that lets `sharespec verify` ask it. Its writes succeed at
// once; it renews no lock, and knows nothing of new leaders or of a log that loses its beginning.
const can = { acquire_modes: ['record_limit'], renew: false, take_over: false, advance_log_start: false };
const IDS = { AVAILABLE: 0, ACKNOWLEDGED: 2, ARCHIVED: 4 };
const ENDS = { 0: () => 'ARCHIVED', 1: () => 'ACKNOWLEDGED', 2: failed, 3: () => 'ARCHIVED' };
let records, log, start, end, now, writes, config; // A record: { state, count, owner, deadline }.

const offsets = (first, last) => Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => first + n);
const spread = (ranges) => ranges.flatMap(([first, last]) => offsets(first, last));
const inFlight = () => offsets(start, end - 1).filter((offset) => records.has(offset));
const isFree = (offset) => !records.has(offset) || records.get(offset).state === 'AVAILABLE';
const isDone = (offset) => // An offset that is not in flight and not in the log needs no delivery.
  records.has(offset) ? ['ACKNOWLEDGED', 'ARCHIVED'].includes(records.get(offset).state) : !log.has(offset);
const completeCount = () => inFlight().filter(isDone).length;

function failed({ count }) { return count < config.delivery_count_limit ? 'AVAILABLE' : 'ARCHIVED'; }

function endDeliveries(states) { // The write says where the start offset is before it moves.
  for (const [offset, state] of states) Object.assign(records.get(offset), { state, owner: null });
  const batches = [...states].map(([offset, state]) => [offset, offset, IDS[state], records.get(offset).count]);
  const write = { start_offset: start, delivery_complete_count: completeCount(), state_batches: batches };
  return { writes: states.size ? [{ id: writes++, ...write, status: 'NONE' }] : [] };
}

function failDeliveries(isMeant) {
  const meant = inFlight().filter((offset) => records.get(offset).owner && isMeant(records.get(offset)));
  return endDeliveries(new Map(meant.map((offset) => [offset, failed(records.get(offset))])));
}

function learn(at, read) { // What a read skips is not in the log, and is not delivered any more.
  const seen = new Set(spread(read));
  offsets(at, Math.max(at - 1, ...seen)).filter((o) => !seen.has(o)).forEach((o) => log.delete(o));
  const gone = read.length ? offsets(at, read[0][0] - 1).filter((o) => records.has(o) && isFree(o)) : [];
  gone.forEach((offset) => { records.get(offset).state = 'ARCHIVED'; });
}

function moveStart() { while (start < end && isDone(start)) records.delete(start++); }

const operations = {
  initialize(asked) { ({ config, time_ms: now } = asked); },
  produce({ log_batches }) { spread(log_batches).forEach((offset) => log.add(offset)); },
  release({ member }) { return failDeliveries(({ owner }) => owner === member); },
  advance_time({ ms }) { now += ms; return failDeliveries(({ deadline }) => deadline <= now); },
  acquire({ member, log: batches, max_batches, max_fetch_records }) {
    const limit = config.partition_max_record_locks, acquired = [];
    const at = offsets(start, end - 1).find((o) => isFree(o) && (records.has(o) || log.has(o))) ?? end;
    if (at === end && end - start >= limit) return { skipped: true, result: { can_acquire: false } };
    const read = batches.filter(([, last]) => last >= at).slice(0, max_batches);
    learn(at, read);
    moveStart();
    const from = start === end && read.length ? Math.max(start, read[0][0]) : start; // An empty window begins with the read.
    const fits = (offset) => offset >= start && (offset < end || offset < from + limit) && isFree(offset);
    for (const offset of spread(read).filter(fits).slice(0, max_fetch_records)) {
      const count = (records.get(offset)?.count ?? 0) + 1;
      records.set(offset, { state: 'ACQUIRED', count, owner: member, deadline: now + config.record_lock_duration_ms });
      acquired.push([offset, offset, count]);
      end = Math.max(end, offset + 1);
    }
    moveStart();
    return { result: { status: 'NONE', acquired, count: acquired.length }, fetch_offset: at, log_batches: read };
  },
  acknowledge({ member, batches }) { // All records of a request, or none.
    const states = new Map();
    for (const [first, last, types] of batches) {
      if (last >= Math.max(start, end)) return { result: { status: 'INVALID_REQUEST' } };
      for (const offset of offsets(first, last).filter((o) => records.has(o))) {
        const mine = records.get(offset).owner === member && !states.has(offset);
        if (!mine) return { result: { status: 'INVALID_RECORD_STATE' } };
        states.set(offset, ENDS[types[types.length === 1 ? 0 : offset - first]](records.get(offset)));
      }
    }
    return endDeliveries(states);
  },
};

function after() {
  const row = (o) => [o, o, records.get(o).state, records.get(o).count, records.get(o).owner, false];
  const ends = { start_offset: start, end_offset: end, delivery_complete_count: completeCount() };
  return { ...ends, records: inFlight().map(row) };
}

const answers = {
  hello: () => ({ protocol: 1, name: 'example', version: '1', profile: 'kip', capabilities: can }),
  reset() { [records, log, start, end, now, writes] = [new Map(), new Set(), 0, 0, 0, 0]; return {}; },
  apply({ operation }) {
    const told = operations[operation.op](operation);
    moveStart();
    return { result: { status: 'NONE' }, writes: [], completed: [], ...told, after: after() };
  },
  goodbye: () => ({}), // The kit closes our standard input, and we end.
};

const lines = require('node:readline').createInterface({ input: process.stdin });
lines.on('line', (line) => console.log(JSON.stringify(answers[JSON.parse(line).do](JSON.parse(line)))));
