/** In which order a recording's jobs are done again: lines as they are written for transactions over several pools. */
import { expect, test } from 'vitest';
import type { HeaderRecord, RecordLine } from '../../../src/recording/record.ts';
import { planReplay } from '../../../src/commands/replay/plan.ts';

const header: HeaderRecord = {
  kind: 'header',
  format: 1,
  service: '0',
  recording: 'r',
  part: 1,
  ms: 0,
  bodies: 'kept',
  options: {},
} as unknown as HeaderRecord;
let seq = 0;
const message = (pool: string, fields: object): RecordLine =>
  ({
    kind: 'message',
    seq: ++seq,
    ms: 0,
    actor: `pool/${pool}`,
    machine: 'pool',
    from: [],
    to: [],
    outcome: 'moved',
    ...fields,
  }) as unknown as RecordLine;
const transaction = (pool: string, id: number, number: number): RecordLine =>
  message(pool, {
    event: { type: 'job', job: { id, kind: 'transaction', transaction: number, pools: [], parts: [] } },
  });
const settled = (pool: string, outcome: object): RecordLine =>
  message(pool, { event: { type: 'done' }, emitted: [{ type: 'settled', outcomes: [outcome] }] });
const done = (id: number, event: number): object => ({ id, status: 'done', events: [{ id: event }] });
const failed = (id: number): object => ({ id, status: 'failed', code: 'object-missing', text: '' });

const ordered = async (lines: readonly RecordLine[]): Promise<readonly string[]> => {
  async function* placed() {
    for (const [number, line] of [header, ...lines].entries()) yield { line, path: 'r', number };
  }
  const { jobs } = await planReplay(placed(), 'r');
  return jobs.map(({ pool, job }) => `${pool} ${'transaction' in job ? job.transaction : job.id}`);
};

test('a transaction that failed stays behind the one that its pool did before, which went on in another pool', async () => {
  const lines = [transaction('a', 1, 1), transaction('b', 2, 1), settled('a', done(1, 7)), settled('b', done(2, 8))];
  expect(await ordered([...lines, transaction('a', 3, 2), settled('a', failed(3))])).toEqual(['a 1', 'b 1', 'a 2']);
});
test('one that failed in two pools stays behind what each of them did', async () => {
  const one = message('b', { event: { type: 'job', job: { id: 9, kind: 'load' } } });
  expect(
    await ordered([
      ...[one, settled('b', done(9, 5)), transaction('a', 1, 1), transaction('b', 2, 1)],
      ...[settled('a', failed(1)), settled('b', failed(2))],
    ]),
  ).toEqual(['b 9', 'a 1', 'b 1']);
});
test('what a pool refused stays behind the change of the pool by the lake before it', async () => {
  const ofLake = (fields: object): RecordLine =>
    ({ ...(message('', fields) as object), actor: 'lake', machine: 'lake' }) as RecordLine;
  const asked = (id: number): RecordLine => message('a', { event: { type: 'job', job: { id, kind: 'create tag' } } });
  const rename = { id: 2, kind: 'rename pool', poolId: 'a', name: 'c' };
  expect(
    await ordered([
      ...[asked(1), settled('a', done(1, 5))],
      ...[ofLake({ event: { type: 'job', job: rename } })],
      ...[ofLake({ event: { type: 'done' }, emitted: [{ type: 'settled', outcomes: [done(2, 6)] }] })],
      ...[asked(3), settled('a', failed(3))],
    ]),
  ).toEqual(['a 1', 'a 2', 'a 3']);
});
