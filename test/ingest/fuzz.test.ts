/**
 * Hostile bodies of shippers: each ends in records or in a LakeError. `COUNT=100000 npx vitest run
 * test/ingest/fuzz.test.ts` runs as many for each protocol.
 */
import { describe, expect, test } from 'vitest';
import { encodeSnappy } from '../../src/formats/codings/snappy.ts';
import type { IngestName } from '../../src/formats/formats.ts';
import { LakeError } from '../../src/errors.ts';
import { valueAt, type Vector } from '../../src/vectors/vector.ts';
import { supText } from '../../src/vectors/sup/print.ts';
import { HeldLoads } from '../../src/workers/ingest/held-loads.ts';
import { ingest } from '../../src/workers/ingest/ingest.ts';
import { PoolLoads } from '../../src/workers/ingest/pool-loads.ts';
import type { Protocol } from '../../src/workers/ingest/ingest.types.ts';
import { framed } from '../../src/workers/ingest/syslog-frames.ts';
import { bytes, message, text, varint } from '../support/formats/protobuf.ts';
import { type Random, randomOf, seedOf } from '../support/random.ts';

const count = Number(process.env['COUNT'] ?? 300);
/** Those of OTLP are formats, which have hostile inputs of their own (test/random). */
type Sampled = Exclude<Protocol, IngestName>;
const stream = (labels: string, line: string): Uint8Array =>
  bytes(
    1,
    message(
      text(1, labels),
      bytes(2, message(bytes(1, message(varint(1, 1_764_300_000), varint(2, 5))), text(2, line))),
      bytes(2, message(text(2, line), bytes(3, message(text(1, 'k'), text(2, 'v'))))),
    ),
  );
const samples: { readonly [P in Sampled]: readonly Uint8Array[] } = {
  bulk: [
    '{"index":{"_index":"a"}}\n{"@timestamp":"2026-11-28T05:00:00Z","n":[1,{"b":null}]}\n{"create":{"_id":"\\u00e9"}}\n{"n":1e3}\n',
    '{"delete":{"_index":"a","_id":"1"}}\n{"update":{"_index":"b","_id":2}}\n{"doc":{}}\n{"index":{}}\n{"x":"\\ud83d\\ude00"}\r\n',
    '\n{"index":{"routing":"r"}}\n{}\n{"index":{"_index":"c"}}\n{"@timestamp":1764300000000123456}\n',
  ].map((body) => Buffer.from(body)),
  hec: [
    '{"time":1764300000.5,"host":"h","event":"x"}{"event":{"a":[1,{"b":null}]},"index":"i","fields":{"f":["x",1]}}\n',
    '{"event":"\\u00e9","time":"1764300000","index":"\\u0069"} {"event":false,"event":1,"time":null,"index":null}',
  ].map((body) => Buffer.from(body)),
  'hec-raw': ['a line\r\n\nanother\n', '\xff\n\x00e\u0301'].map((body) => Buffer.from(body)),
  syslog: [
    '<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \ufeffsu root failed',
    '<165>1 2003-10-11T22:14:15.003Z h app 8710 - [a@1 iut="3" e\\]="\\"\\]"][b][c@2 x="1" x="2"]',
    '<34>Oct 11 22:14:15 mymachine su[12]: failed',
    '<13>2026-11-28T08:00:00.123456+01:00 host tag: text',
  ].map((body) => Buffer.from(body)),
  'loki-json': [
    '{"streams":[{"stream":{"a":"b"},"values":[["1764300000000000000","x"],["1","y",{"m":"n"}]]}]}',
    '{"streams":[{"stream":{},"values":[["-5","é\\n"]]},{"stream":{"__proto__":"p"},"values":[]}]}',
  ].map((body) => Buffer.from(body)),
  'loki-protobuf': [
    message(stream('{app="x", b="q\\"\\u00e9"}', 'line'), stream('{}', 'é')),
    message(stream('{a=`raw`}', 'x'.repeat(300))),
  ],
};
/** Bytes that mean something somewhere. */
const pieces = ['{', '}', '[', ']', '"', '\\', '\n', ',', ':', '\0', '\xff', '\x80', '1', '-', '{}', '\\u', '`', '='];

const mutated = (random: Random, all: readonly Uint8Array[]): Uint8Array => {
  let body = Buffer.from(random.pick(all));
  for (let n = 1 + random.below(3); n > 0; n--) {
    const at = random.below(body.length + 1);
    const to = Math.min(body.length, at + random.below(20));
    switch (random.below(5)) {
      case 0:
        if (at < body.length) body[at] = random.below(256);
        break;
      case 1:
        body = Buffer.concat([body.subarray(0, at), Buffer.from(random.pick(pieces), 'latin1'), body.subarray(at)]);
        break;
      case 2:
        body = Buffer.concat([body.subarray(0, at), body.subarray(to)]);
        break;
      case 3:
        body = body.subarray(0, at);
        break;
      default:
        body = Buffer.concat([body.subarray(0, at), body.subarray(at, to), body.subarray(at)]);
    }
  }
  return body;
};
/** The body, cut where chunks of a network might be. */
async function* cut(random: Random, body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; ) {
    const end = Math.min(body.length, at + 1 + random.below(body.length));
    yield body.slice(at, end);
    at = end;
  }
}

/** Protocols in which nothing is wrong. */
const takesAll: ReadonlySet<Protocol> = new Set<Protocol>(['hec-raw', 'syslog']);

describe.each(Object.keys(samples) as Sampled[])('%s', (protocol) => {
  test(`${count} hostile bodies end in records or in a LakeError`, { timeout: 3_600_000 }, async () => {
    const seed = seedOf(30);
    const random = randomOf(seed);
    const ends = { records: 0, errors: 0 };
    for (let k = 0; k < count; k++) {
      const plain = mutated(random, samples[protocol]);
      // Half of them broken within the block, half broken as a block.
      const body =
        protocol !== 'loki-protobuf' ? plain : k % 2 ? encodeSnappy(plain) : mutated(random, [encodeSnappy(plain)]);
      const sent = protocol === 'syslog' ? framed(body, 1.764e12 + 0.5, '127.0.0.1') : body;
      const told = `SEED=${seed}, body ${k}: ${Buffer.from(body).toString('latin1')}`;
      try {
        await ingest(
          cut(random, sent),
          { protocol, pool: 'p', time: protocol.startsWith('hec') ? 'time' : '@timestamp', defaults: { host: 'd' } },
          { ingestBodyBytesMax: 1 << 20 },
          {
            loads: k % 4 < 2 ? new PoolLoads(tools) : new HeldLoads(tools),
            identityOf: async () => (k % 3 === 0 ? 'id' : null),
          },
        );
        ends.records++;
      } catch (error) {
        if (!(error instanceof LakeError) || error.code === 'internal') throw new Error(told, { cause: error });
        ends.errors++;
      }
    }
    expect(Math.min(ends.records, takesAll.has(protocol) ? count : ends.errors), `SEED=${seed}`).toBeGreaterThan(0);
  });
});

const tools = {
  layoutOf: async () => ({ keys: [['ts']], order: 'asc', threshold: 1 << 20 }) as const,
  sort: async (batches: AsyncIterable<Vector> | Iterable<Vector>) => {
    let records = 0;
    for await (const batch of batches) records += printed(batch);
    return { objects: [], records, bytes: 0 };
  },
  remove: async () => undefined,
};
/** Every value is one. */
const printed = (batch: Vector): number => {
  for (let i = 0; i < batch.length; i++) supText(valueAt(batch, i));
  return batch.length;
};
