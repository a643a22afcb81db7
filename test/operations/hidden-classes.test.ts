/**
 * What commits make is of classes that the engine knows already. An object literal with getters, or with names behind a
 * spread, is of a new one at each evaluation (Node 20): it costs some 10 µs, and whoever is handed such objects stays
 * slow. The log of the engine tells of each; so it does of compiled code that is thrown away again and again.
 */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, clientOf, jsonType } from '../support/service/client.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { otlpBytes } from '../support/formats/otlp.ts';

const commits = 300;
const warmUp = 200;
const clients = 8;
/** Classes for each connection, and those of code that becomes warm late, are fewer. */
const classesMax = 0.25 * commits;
/** A function that is compiled anew so often does not come to rest. */
const thrownAwayMax = 12;

const folder = mkdtempSync(join(tmpdir(), 'lake-classes-'));
const log = join(folder, 'engine.log');
let service: Service;
let client: Client;
beforeAll(async () => {
  service = await startBuiltService({
    flags: ['-workers', '1'],
    engine: ['--log-maps', '--log-deopt', `--logfile=${log}`, '--no-logfile-per-isolate'],
  });
  client = clientOf(service.address, clients);
  await client.createPool('p', 'ts');
  await client.createPool('q', 'ts');
});
afterAll(async () => {
  client.close();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Commit = (n: number) => Promise<void>;
const sent = async (path: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<string> => {
  const answer = await client.ask('POST', path, { headers: { ...jsonType, ...headers }, body });
  if (answer.status >= 300 || answer.body.includes('"errors":true')) throw new Error(`${path}: ${answer.body}`);
  return answer.body;
};
const since = 1_764_300_000_000;
const timeOf = (n: number): string => new Date(since + n).toISOString();
const batch = Array.from({ length: 10 }, (_, k) => k);
const nanoseconds = (n: number): string => `${since + n}000000`;

const kinds: Readonly<Record<string, Commit>> = {
  'single loads': async (n) => {
    await sent('/pool/p/branch/main', `{"ts":${n},"message":"m${n}"}`);
  },
  bulk: async (n) => {
    const lines = batch.map((k) => `{"create":{"_index":"bulk"}}\n{"@timestamp":"${timeOf(n)}","n":${n * 10 + k}}\n`);
    await sent('/_bulk', lines.join(''));
  },
  OTLP: async (n) => {
    const logRecords = batch.map((k) => ({
      timeUnixNano: nanoseconds(n),
      severityText: 'INFO',
      body: { stringValue: `message ${n * 10 + k}` },
      attributes: [{ key: 'status', value: { intValue: k } }],
    }));
    const bytes = otlpBytes('logs', { resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
    await sent('/v1/logs', bytes, { 'content-type': 'application/x-protobuf' });
  },
  Loki: async (n) => {
    const values = batch.map((k) => [nanoseconds(n), `level=info message=m${n * 10 + k}`]);
    await sent('/loki/api/v1/push', JSON.stringify({ streams: [{ stream: { app: 'shop' }, values }] }));
  },
  HEC: async (n) => {
    const events = batch.map((k) => JSON.stringify({ time: since / 1000 + n, event: `event ${n * 10 + k}` }));
    await sent('/services/collector/event', events.join('\n'));
  },
  deletes: async (n) => {
    await sent('/pool/q/branch/main', `{"ts":${n}}`);
    await sent('/pool/q/branch/main/delete', `{"where":"ts == ${n}"}`);
  },
  merges: async (n) => {
    await sent('/pool/q', `{"name":"b${n}","commit":"${await client.tip('q')}"}`);
    await sent(`/pool/q/branch/b${n}`, `{"ts":${n}}`);
    await sent(`/pool/q/branch/main/merge/b${n}`, '');
  },
};

/** Lines of the engine's log by what they tell of: a field that a class was made for, or a function thrown away. */
const toldBy = (text: string): Readonly<Record<'classes' | 'thrownAway', ReadonlyMap<string, number>>> => {
  const told = { classes: new Map<string, number>(), thrownAway: new Map<string, number>() };
  const count = (counts: Map<string, number>, key: string): void => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  for (const line of text.split('\n')) {
    const fields = line.split(',');
    // map,KIND,TIME,FROM,TO,CODE,LINE,COLUMN,REASON,NAME
    if (fields[0] === 'map') count(told.classes, `${fields[1]} ${fields[8]} ${fields[9]} (line ${fields[6]})`);
    // code-deopt,TIME,SIZE,CODE,INLINED,POSITION,KIND,PLACE,REASON
    if (fields[0] === 'code-deopt') count(told.thrownAway, `${fields[7]} (${fields[8]})`);
  }
  return told;
};
const over = (counts: ReadonlyMap<string, number>, limit: number): readonly string[] =>
  [...counts].filter(([, count]) => count > limit).map(([key, count]) => `${key}: ${count} times`);

const inTurns = async (commit: Commit, first: number, count: number): Promise<void> => {
  let next = first;
  const send = async (): Promise<void> => {
    while (next < first + count) await commit(next++);
  };
  await Promise.all(Array.from({ length: clients }, send));
};

describe(`${commits} commits make no new class each`, () => {
  test.each(Object.entries(kinds))('%s', async (_, commit) => {
    await inTurns(commit, 0, warmUp);
    const start = statSync(log).size;
    await inTurns(commit, warmUp, commits);
    const { classes, thrownAway } = toldBy(readFileSync(log).subarray(start).toString('latin1'));
    expect(over(classes, classesMax)).toEqual([]);
    expect(over(thrownAway, thrownAwayMax)).toEqual([]);
  });
});
