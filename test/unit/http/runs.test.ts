import { afterEach, expect, test } from 'vitest';
import { type LoadRun, Runs } from '../../../src/http/runs.ts';
import { runCharts } from '../../../src/workers/watches.ts';

const all: Runs[] = [];
afterEach(() => {
  for (const runs of all.splice(0)) runs.close();
});
const newRuns = (keepMs = 60_000): Runs => {
  const runs = new Runs({ queryMsMax: 0, keepMs, inspect: undefined, charts: runCharts });
  all.push(runs);
  return runs;
};
const begin = (runs: Runs, id: string, owner?: string): LoadRun =>
  runs.beginLoad({
    id,
    owner,
    poolId: 'p',
    pool: 'p',
    branch: 'main',
    bytesTotal: undefined,
    whenLeft: () => undefined,
  });
const nobody = { name: undefined, seesAll: false };

test('of an id each owner sees the own run, whoever began before, between and behind', () => {
  const runs = newRuns();
  const owners = ['a', 'b', 'c'];
  const own = new Map(owners.map((owner) => [owner, begin(runs, 'x', owner)]));
  for (const owner of owners) expect(runs.load('x', { name: owner, seesAll: false })).toBe(own.get(owner));
  expect(runs.load('x', { name: 'd', seesAll: false })).toBeUndefined();
  expect(owners.map((owner) => own.get(owner))).toContain(runs.load('x', { name: 'd', seesAll: true }));
  const newer = begin(runs, 'x', 'b');
  expect(runs.load('x', { name: 'b', seesAll: false })).toBe(newer);
  // The one that began before runs on, and is found again when the newer one is not known any more.
  newer.committed('1');
  expect(runs.states().loads).toEqual(new Map([['waiting', 3]]));
  own.get('b')!.committed('2');
  own.get('a')!.committed('3');
  expect(runs.load('x', { name: 'c', seesAll: false })).toBe(own.get('c'));
  expect(runs.load('x', { name: 'a', seesAll: false })).toBe(own.get('a'));
});

test('what ended is known for a while, the newest of each id, and no more than 4,096 of them', () => {
  const runs = newRuns();
  const kept = begin(runs, 'kept');
  const first = begin(runs, 'first');
  first.committed('1');
  const shared = begin(runs, 'shared', 'a');
  begin(runs, 'shared', 'b').committed('2');
  const again = Array.from({ length: 3 }, () => {
    const run = begin(runs, 'again');
    run.committed('3');
    return run;
  });
  expect(runs.load('again', nobody)).toBe(again[2]);
  for (let i = 0; i < 4093; i++) begin(runs, `n${i}`).committed('4');
  expect(runs.load('first', nobody)).toBe(first);
  begin(runs, 'one more').committed('5');
  expect(runs.load('first', nobody)).toBeUndefined();
  expect(runs.load('n0', nobody)?.commitId).toBe('4');
  for (let i = 0; i < 3; i++) begin(runs, `more ${i}`).committed('6');
  expect(runs.load('again', nobody)).toBeUndefined();
  expect(runs.load('shared', { name: 'b', seesAll: false })).toBeUndefined();
  expect(runs.load('shared', { name: 'a', seesAll: false })).toBe(shared);
  expect(runs.load('kept', nobody)).toBe(kept);
});
