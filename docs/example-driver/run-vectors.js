'use strict';
// Plays vectors on a driver, without sharespec.
const { spawn } = require('node:child_process');
const { readFileSync } = require('node:fs');
const USAGE = "node run-vectors.js 'DRIVER COMMAND' FILE...";
const [command, ...files] = process.argv.slice(2);
const stop = (why) => { console.error(`${why}; usage: ${USAGE}`); process.exit(2); };
const vectorsOf = (file) => {
  try { return [...JSON.parse(readFileSync(file)).vectors]; } catch { return stop(`${file} has no vectors`); }
};
const vectors = files.length ? files.flatMap(vectorsOf) : stop('no file of vectors is named');
const child = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'inherit'] });
const lines = require('node:readline').createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const ask = async (message) => {
  child.stdin.write(JSON.stringify(message) + '\n');
  return JSON.parse((await lines.next()).value);
};

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const byOffset = (ranges) => new Map(ranges.flatMap(([first, last, ...said]) =>
  Array.from({ length: last - first + 1 }, (_, n) => [first + n, JSON.stringify(said)])));
const sorted = (map) => [...map].sort(([a], [b]) => a - b);
const within = ([low, high], value) => low <= value && value <= high;

const never = '["AVAILABLE",0,null,false]'; // As good as an offset that is not there.

function view({ result, writes, completed, after }) { // All that is compared, whatever the ranges.
  const { start_offset: start, end_offset: end, delivery_complete_count: complete, records = [] } = after;
  const written = writes.flatMap((write) =>
    [...byOffset(write.state_batches)].filter(([offset]) => offset >= write.start_offset));
  return {
    start, end, status: result.status ?? 'NONE', acquired: byOffset(result.acquired ?? []),
    rest: {
      complete,
      completed: completed.map(({ seq, status }) => [seq, status]).sort(),
      records: sorted(byOffset(records)).filter(([o, said]) => o >= start && o < end && said !== never),
      written: sorted(written),
    },
    heads: writes.map((write) => [write.start_offset, write.delivery_complete_count, write.status]),
  };
}

// 'same'; 'otherwise', where the rules leave a choice that the driver made in another way; 'wrong'.
function judged(expected, got, { operation }, free = {}) {
  const may = byOffset(free.acquired ?? []), taken = [...got.acquired];
  const tooMany = operation.acquire_mode === 'record_limit' && taken.length > operation.max_fetch_records;
  const counts = taken.every(([o, count]) => (expected.acquired.get(o) ?? count) === count && (expected.acquired.has(o) || may.has(o)));
  const choices = [
    [expected.status === got.status, free.status?.includes(got.status)],
    [same(sorted(expected.acquired), sorted(got.acquired)), counts && !tooMany],
    [expected.start === got.start, free.start_offset && within(free.start_offset, got.start)],
    [expected.end === got.end, free.end_offset && within(free.end_offset, got.end)],
  ];
  if (choices.some(([equal, legal]) => !equal && !legal)) return 'wrong';
  if (choices.some(([equal]) => !equal)) return 'otherwise';
  if (!same(expected.rest, got.rest)) return 'wrong';
  return same(expected.heads, got.heads) ? 'same' : free.writes && got.heads.length > expected.heads.length ? 'otherwise' : 'wrong';
}

async function played({ steps }) {
  const ids = new Map(); // The driver numbers its writes as it likes.
  await ask({ do: 'reset' });
  for (const { says, request, reply, free } of steps) {
    const operation = { ...request.operation };
    if (operation.op === 'complete_write') operation.id = ids.get(operation.id);
    const got = await ask({ ...request, operation });
    const verdict = got.error ? 'wrong' : judged(view(reply), view(got), request, free);
    if (verdict !== 'same') return [verdict, says, JSON.stringify(got)];
    reply.writes.forEach((write, n) => ids.set(write.id, got.writes[n].id));
  }
  return ['same'];
}

async function main() {
  const { profile, capabilities } = await ask({ do: 'hello', protocol: 1 });
  const defaults = { acquire_modes: ['record_limit', 'batch_optimized'], renew: true, take_over: true, advance_log_start: true };
  const can = { ...defaults, ...capabilities };
  const has = ([name, needed]) => needed === true ? can[name] : needed.every((one) => (can[name] ?? []).includes(one));
  const counts = { same: 0, otherwise: 0, wrong: 0, skipped: 0 };
  for (const vector of vectors) {
    const playable = vector.profiles.includes(profile) && Object.entries(vector.needs).every(has);
    const [verdict, ...where] = playable ? await played(vector) : ['skipped'];
    counts[verdict]++;
    if (verdict === 'wrong') console.log(vector.name, ...where);
  }
  console.log(JSON.stringify(counts));
  child.stdin.end();
  process.exitCode = counts.wrong ? 1 : 0;
}
main();
