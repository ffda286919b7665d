// Dynamic batching in JavaScript, behind the wire of docs/protocol.md. Check it with:  exec:node variants/loop.mjs
//
// Token ids may be larger than a JavaScript number can hold. The loop only compares and copies them, so
// they stay the digits that they were on the wire.
import { readSync, writeSync } from "node:fs";

class ModelError extends Error {}
class RunStopped extends Error {}
class ValueError extends Error {}

/** Generate the tokens of every request, at most `numSlots` at a time, as a Map from id to tokens. */
function generate(model, requests, numSlots, stopToken) {
  if (numSlots < 1) throw new ValueError(`numSlots is ${numSlots}, and should be at least 1`);
  const results = new Map(requests.map(({ id }) => [id, []]));
  if (results.size < requests.length) throw new ValueError("two requests have one id");
  if (requests.some(({ maxTokens }) => maxTokens < 0)) throw new ValueError("maxTokens is below 0");
  const waiting = requests.filter(({ maxTokens }) => maxTokens > 0);
  let running = [];
  for (let next = 0; ; ) {
    while (running.length < numSlots && next < waiting.length) running.push(waiting[next++]);
    if (running.length === 0) return results;
    const tokens = model.nextTokens(running.map(({ id, prompt }) => [...prompt, ...results.get(id)]));
    if (tokens.length !== running.length) throw new ValueError("the model did not answer every row once");
    running.forEach(({ id }, index) => results.get(id).push(tokens[index]));
    running = running.filter(({ id, maxTokens }, i) => tokens[i] !== stopToken && results.get(id).length < maxTokens);
  }
}

// --- the wire ---

let pending = Buffer.alloc(0);
const ahead = [];

/** Wait for a line. Numbers become strings of their digits, so that none loses any. */
function receive() {
  for (let end; (end = pending.indexOf(10)) < 0; ) {
    const chunk = Buffer.alloc(65536);
    const size = readSync(0, chunk);
    if (size === 0) process.exit(0);
    pending = Buffer.concat([pending, chunk.subarray(0, size)]);
  }
  const end = pending.indexOf(10);
  const line = pending.subarray(0, end).toString();
  pending = pending.subarray(end + 1);
  return JSON.parse(line.replace(/"(?:[^"\\]|\\.)*"|-?\d+/g, (part) => (part[0] === '"' ? part : `"${part}"`)));
}

function send(...parts) {
  const data = Buffer.from(`[${parts.join(",")}]\n`);
  for (let sent = 0; sent < data.length; ) sent += writeSync(1, data, sent);
}

const text = (value) => JSON.stringify(String(value).slice(0, 300));
const list = (tokens) => `[${tokens.join(",")}]`;

class Model {
  constructor(run, stopToken, [kind, from, otherwise]) {
    Object.assign(this, { run, stopToken, kind, from: Number(from), otherwise, calls: 0, raised: null, kept: [] });
  }

  nextTokens(batch) {
    const played = this.kind !== undefined && this.calls >= this.from;
    const before = played && this.kind === "keeps" ? batch.map(list) : [];
    send('"call"', this.run, this.calls++, list(batch.map(list)));
    const [tag, value] = this.answer();
    if (tag === "raise") throw (this.raised = new ModelError(value));
    if (tag === "stop") throw new RunStopped(value);
    if (played && this.kind === "keeps") batch.forEach((row, index) => this.kept.push([row, before[index]]));
    if (played && this.kind === "tampers") {
      for (const row of batch) row.splice(0, row.length, this.stopToken, ...row.slice(1), this.otherwise);
      batch.length = 0;
    }
    return value;
  }

  answer() {
    for (;;) {
      const message = receive();
      if (message[0] === "run") ahead.push(message);
      else if (message[0] === "inside") serve(message);
      else return message;
    }
  }

  rowsChanged() {
    const found = this.kept.find(([row, before]) => list(row) !== before);
    return found ? `the row ${found[1]} was ${list(found[0].slice(0, 20))} at the end` : "";
  }
}

function serve([, run, asked, numSlots, stopToken, fault]) {
  const requests = asked.map(([id, prompt, maxTokens]) => ({ id, prompt, maxTokens: Number(maxTokens) }));
  const before = JSON.stringify(requests);
  const model = new Model(run, stopToken, fault);
  const facts = () => [text(JSON.stringify(requests) === before ? "" : "the requests changed"), text(model.rowsChanged())];
  try {
    const results = generate(model, requests, Number(numSlots), stopToken);
    const pairs = [...results].map(([id, tokens]) => `[${JSON.stringify(id)},${list(tokens)}]`);
    send('"return"', run, list(pairs), '""', ...facts());
  } catch (error) {
    const surfaced = model.raised !== null && error === model.raised;
    send('"raised"', run, text(error.constructor.name), text(error.message), surfaced, error instanceof ValueError, ...facts());
  }
}

send('"hello"', 1, "[]", '["generate"]', '["ahead"]', '""');
for (;;) {
  const message = ahead.shift() ?? receive();
  if (message[0] === "run") serve(message);
}
