/**
 * A recording of many clients, replayed: the same commits and events, against the machines and against the whole
 * service; and a recording that was changed.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MessageRecord, RecordLine } from '../../../src/recording/record.ts';
import { differenceText } from '../../../src/recording/differences.ts';
import { replayMachines } from '../../../src/recording/replay.ts';
import { partsOf, readRecording } from '../../../src/recording/reader.ts';
import { recordMixedOperations, replayOnLake, replayTimes } from '../../support/machines/replay-campaign.ts';
import { seedOf } from '../../support/random.ts';

const seed = seedOf(1);
let folder = '';
let recording = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lake-replay-'));
  recording = join(folder, 'r.ndjson');
  const { statuses } = await recordMixedOperations({ recording, operations: 150, clients: 32, seed });
  expect(Object.keys(statuses).filter((status) => Number(status) >= 500)).toEqual([]);
}, 120_000);
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe(`150 mixed operations of 32 clients, seed ${seed}`, () => {
  test('replay to the same states, commits, tips and events, ten times of ten', async () => {
    const reports = await replayTimes(recording, 10);
    expect(reports.map((report) => report.differences.map(differenceText))).toEqual(
      Array.from({ length: 10 }, () => []),
    );
    expect(new Set(reports.map((report) => JSON.stringify(report))).size).toBe(1);
    const { commits, events, tips, notes } = reports[0]!;
    expect({ commits: commits > 20, events: events > 25, tips: tips >= 3, notes }).toEqual({
      commits: true,
      events: true,
      tips: true,
      notes: [],
    });
  });

  test('replay against the whole service to the same commits, events and rows', { timeout: 300_000 }, () => {
    const { status, printed } = replayOnLake(recording, join(folder, 'lake'));
    expect(printed).toMatch(/lake: \d+ jobs, \d+ commits, \d+ events, \d+ tips, \d+ rows of \d+ tips: the same\n$/);
    expect(status).toBe(0);
  });

  test('without the bodies the rows of the tips cannot be compared, and the replay says so', {
    timeout: 300_000,
  }, () => {
    const other = join(folder, 'without.ndjson');
    writeFileSync(
      other,
      readFileSync(recording, 'utf8')
        .replaceAll('"kept":true', '"kept":false')
        .replace('"bodies":"kept"', '"bodies":"digest"'),
    );
    const { status, printed } = replayOnLake(other, join(folder, 'without'));
    expect(printed).toMatch(
      /without: \d+ jobs, \d+ commits, \d+ events, \d+ tips: the same\nnote: the rows of the tips are not compared: not all bodies were kept \(option -record\.bodies of lake serve\)\n$/,
    );
    expect(status).toBe(0);
  });
});

test('a lake that has data is recorded too, in parts of bounded size, and replays against the machines', {
  timeout: 300_000,
}, async () => {
  const other = join(folder, 'parts.ndjson');
  const flags = ['-record.bytes.max', '4KiB', '-record.files.max', '1000'];
  await recordMixedOperations({
    recording: other,
    operations: 300,
    clients: 4,
    seed,
    flags,
    lake: join(folder, 'lake'),
  });
  expect(partsOf(other).length).toBeGreaterThan(3);
  const { differences, tips, notes } = await replayMachines(readRecording(other));
  expect({ differences: differences.map(differenceText), tips: tips > 0, notes }).toEqual({
    differences: [],
    tips: true,
    notes: [],
  });
  expect(replayOnLake(other, join(folder, 'refused')).printed).toContain(
    'cannot be replayed against a lake: the recorded lake had pools when it began',
  );
  // Where it begins later, jobs are under way whose commits were drawn before.
  for (const [k, part] of partsOf(other).slice(0, -2).entries()) {
    rmSync(part);
    if (k % 4 > 0) continue;
    const report = await replayMachines(readRecording(other));
    expect({ differences: report.differences.map(differenceText), notes: report.notes }).toEqual({
      differences: [],
      notes: [`parts 1 to ${k + 1} of the recording are gone: it is replayed from part ${k + 2} on`],
    });
  }
});

describe('a recording that was changed is told from one that was not', () => {
  const changed = async (change: (line: RecordLine, index: number) => RecordLine | undefined): Promise<string> => {
    const path = join(folder, 'changed.ndjson');
    const lines = readFileSync(recording, 'utf8')
      .trim()
      .split('\n')
      .flatMap((text, i) =>
        i === 0
          ? [text]
          : [change(JSON.parse(text) as RecordLine, i)]
              .filter((line) => line !== undefined)
              .map((line) => JSON.stringify(line)),
      );
    writeFileSync(path, `${lines.join('\n')}\n`);
    const { differences } = await replayMachines(readRecording(path));
    return differences[0] ? differenceText(differences[0]).replaceAll(path, 'FILE') : '';
  };
  const firstOf = (choose: (line: MessageRecord) => boolean): ((line: RecordLine) => boolean) => {
    let seen = false;
    return (line) => {
      if (seen || line.kind !== 'message' || !choose(line)) return false;
      seen = true;
      return true;
    };
  };

  test('a state', async () => {
    const wanted = firstOf((line) => line.machine === 'pool' && line.event.type === 'done');
    expect(await changed((line) => (wanted(line) ? { ...(line as MessageRecord), to: ['failed'] } : line))).toMatch(
      /^FILE:\d+ \(message \d+, pool\/\w+: done\): to\n {2}expected \["failed"\]\n {2}found {4}\["\w+"\]$/,
    );
  });
  test('a message that is gone', async () => {
    const wanted = firstOf((line) => line.machine === 'pool' && line.event.type.startsWith('xstate.done'));
    expect(await changed((line) => (wanted(line) ? undefined : line))).toMatch(/^FILE:\d+ \(message \d+, pool\/\w+: /);
  });
  test('a commit', async () => {
    let done = false;
    expect(
      await changed((line) => {
        if (done || line.kind !== 'drawn' || line.fact.what !== 'commit') return line;
        done = true;
        return { ...line, fact: { ...line.fact, commit: { ...line.fact.commit, parent: 'f'.repeat(40) } } };
      }),
    ).toMatch(
      /^FILE:\d+: commit \w{40} of pool \w{40}\n {2}expected \{"branch":"main","parent":"f{40}"\}\n {2}found {4}\{"branch":"main","parent":"0{40}"\}$/,
    );
  });
  test('an event that was told twice', async () => {
    let last: RecordLine | undefined;
    const path = join(folder, 'twice.ndjson');
    const lines = readFileSync(recording, 'utf8')
      .trim()
      .split('\n')
      .flatMap((text) => {
        const line = JSON.parse(text) as RecordLine;
        if (last || line.kind !== 'event' || line.event.kind !== 'pool-commit') return [text];
        last = line;
        return [text, text];
      });
    writeFileSync(path, `${lines.join('\n')}\n`);
    const { differences } = await replayMachines(readRecording(path));
    expect(differences[0]?.what).toMatch(/^event \d+ of \w{40}$/);
  });
  test('a tip', async () => {
    expect(
      await changed((line) =>
        line.kind === 'tip' && line.branch === 'main' ? { ...line, commit: 'e'.repeat(40) } : line,
      ),
    ).toMatch(/^FILE:\d+: tip of \w+ main\n {2}expected "e{40}"\n {2}found {4}"\w+"$/);
  });
});
