/** The table of a profile; the command itself runs against the service as it is shipped. */
import { expect, test } from 'vitest';
import { profileTable, timesOf } from './profile.ts';

const frame = (
  functionName: string,
): { functionName: string; url: string; lineNumber: number; columnNumber: number } => ({
  functionName,
  url: `src/${functionName}.ts`,
  lineNumber: 0,
  columnNumber: 0,
});
/** `scan` calls `hash`, which calls itself. */
const profile = {
  nodes: [
    { id: 1, callFrame: { ...frame('(root)'), url: '' }, children: [2, 3] },
    { id: 2, callFrame: { ...frame('(idle)'), url: '' } },
    { id: 3, callFrame: frame('scan'), children: [4] },
    { id: 4, callFrame: frame('hash'), children: [5] },
    { id: 5, callFrame: frame('hash') },
  ],
  samples: [2, 3, 4, 5, 5],
  timeDeltas: [9000, 1000, 2000, 3000, 4000],
};

test('what a function took itself is told apart from what it called; what calls itself is counted once, idle time not at all', () => {
  expect(timesOf(profile)).toEqual([
    { name: 'hash', place: 'src/hash.ts:1', self: 9000, total: 9000 },
    { name: 'scan', place: 'src/scan.ts:1', self: 1000, total: 10_000 },
  ]);
});

test('times of the table are those of one run', () => {
  expect(profileTable({ profile, medianMs: 10, runs: 2 }, 1).split('\n')[1]!.trim().split(/\s+/)).toEqual([
    '4.50',
    '90.0%',
    '4.50',
    'hash',
    'src/hash.ts:1',
  ]);
});
