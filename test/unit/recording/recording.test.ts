/** The files of a recording: lines, parts, what is lost and told of, bodies, and what cannot be read. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createActor } from 'xstate';
import { loadMachine } from '../../../machines/load.machine.ts';
import { subscriberMachine } from '../../../machines/subscriber.machine.ts';
import { Recorder } from '../../../src/commands/recorder.ts';
import { planReplay } from '../../../src/commands/replay/plan.ts';
import { replayCommand } from '../../../src/commands/replay/replay.ts';
import { BodyKeeper, bodiesFolder, readBody } from '../../../src/recording/bodies.ts';
import { partsOf, readRecording } from '../../../src/recording/reader.ts';
import { type RecordedBody, type RecordLine, recordFormat } from '../../../src/recording/record.ts';
import { replayMachines } from '../../../src/recording/replay.ts';
import { digestRows } from '../../../src/recording/tip-rows.ts';
import { MachineWatch } from '../../../src/recording/watch.ts';
import { RecordingReader } from '../../../visualize/inspect/recording.ts';
import { RecordingWriter, type RecordingWriterOptions } from '../../../src/recording/writer.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lake-recording-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const unexpected = (fault: unknown): void => {
  throw fault;
};
const file = (): string => join(folder, 'r.ndjson');
const linesOf = async (path = file()): Promise<readonly RecordLine[]> => {
  const lines: RecordLine[] = [];
  for await (const { line } of readRecording(path)) if (line.kind !== 'header') lines.push(line);
  return lines;
};
/** A watch whose messages are recorded. */
const startRecording = async (
  options: Partial<RecordingWriterOptions> = {},
): Promise<{ readonly watch: MachineWatch; readonly writer: RecordingWriter }> => {
  const watch = new MachineWatch();
  const writer = await RecordingWriter.open({
    path: file(),
    fileBytesMax: 1 << 30,
    filesMax: 3,
    nextSeq: () => watch.nextSeq(),
    standing: () => watch.actors({ snapshots: true }),
    report: unexpected,
    header: { format: recordFormat, service: 'v0', recording: 'one', ms: 0, bodies: 'digest', options: {} },
    ...options,
  });
  watch.listen({
    actor: (record) => {
      writer.write(record);
    },
    message: (record) => {
      writer.write(record);
    },
  });
  return { watch, writer };
};
const startLoad = (watch: MachineWatch) =>
  createActor(loadMachine, { input: { poolId: 'p' }, inspect: watch.inspect }).start();
const finishLoad = (actor: ReturnType<typeof startLoad>): void => {
  actor.send({ type: 'all rows read', bodyBytes: 1 });
  actor.send({ type: 'rows sorted' });
  actor.send({ type: 'objects written', objects: ['a'], records: 1, bytes: 1 });
  actor.send({ type: 'committed', commit: 'c' });
};
const written = (writer: RecordingWriter): Promise<void> =>
  vi.waitFor(
    () => {
      expect(writer.waiting).toBe(0);
    },
    { interval: 5, timeout: 20_000 },
  );

describe('lines', () => {
  test('an actor and each of its messages have a line, in the order of their numbers', async () => {
    const { watch, writer } = await startRecording();
    const actor = createActor(subscriberMachine, {
      input: { waitingMax: 1, lastId: 0 },
      inspect: watch.inspect,
    }).start();
    actor.send({ type: 'event came', id: 1 });
    actor.send({ type: 'client left' });
    actor.send({ type: 'event came', id: 2 });
    await writer.close();
    expect((await linesOf()).map(({ ms: _, ...line }) => line as object)).toEqual([
      {
        kind: 'actor',
        seq: 1,
        actor: 'subscriber/1',
        machine: 'subscriber',
        input: { waitingMax: 1, lastId: 0 },
        state: ['open'],
      },
      {
        kind: 'message',
        seq: 2,
        actor: 'subscriber/1',
        machine: 'subscriber',
        event: { type: 'event came', id: 1 },
        from: ['open'],
        to: ['open'],
        outcome: 'stayed',
        emitted: [{ type: 'write', id: 1 }],
      },
      {
        kind: 'message',
        seq: 3,
        actor: 'subscriber/1',
        machine: 'subscriber',
        event: { type: 'client left' },
        from: ['open'],
        to: ['closed'],
        outcome: 'ended',
        emitted: [{ type: 'end', reason: 'client left' }],
      },
      {
        kind: 'message',
        seq: 4,
        actor: 'subscriber/1',
        machine: 'subscriber',
        event: { type: 'event came', id: 2 },
        from: ['closed'],
        to: ['closed'],
        outcome: 'dropped',
      },
    ]);
  });

  test('a recording whose last line was cut off is read up to there', async () => {
    const { watch, writer } = await startRecording();
    finishLoad(startLoad(watch));
    await writer.close();
    const whole = readFileSync(file(), 'utf8');
    writeFileSync(file(), whole.slice(0, -20));
    expect((await linesOf()).length).toBe(4);
    const { messages, differenceCount, notes } = await replayMachines(readRecording(file()));
    expect({ messages, differenceCount, notes }).toEqual({
      messages: 3,
      differenceCount: 0,
      notes: ['the recording has no end: the service was killed, or still writes it'],
    });
  });
});

describe('parts', () => {
  test('a full file makes room for the next one; the oldest go, and what is left can be replayed', async () => {
    const { watch, writer } = await startRecording({ fileBytesMax: 4096 });
    const standing = startLoad(watch);
    for (let i = 0; i < 120; i++) {
      finishLoad(startLoad(watch));
      if (i % 4 === 0) await written(writer);
    }
    finishLoad(standing);
    await writer.close();
    expect(partsOf(file()).map((path) => path.slice(file().length))).toEqual(['.2', '.1', '']);
    expect(readdirSync(folder).sort()).toEqual(['r.ndjson', 'r.ndjson.1', 'r.ndjson.2']);
    const { differenceCount, notes } = await replayMachines(readRecording(file()));
    expect({ differenceCount, notes: notes.map((note) => note.replace(/\d+/g, 'N')) }).toEqual({
      differenceCount: 0,
      notes: [
        'parts N to N of the recording are gone: it is replayed from part N on',
        'the recording has no end: the service was killed, or still writes it',
      ],
    });
  });

  test('lines that find the queue full are lost, are counted, and the replay goes on behind them', async () => {
    const { watch, writer } = await startRecording({ queueLinesMax: 20 });
    const standing = startLoad(watch);
    for (let i = 0; i < 10; i++) finishLoad(startLoad(watch));
    await written(writer);
    finishLoad(standing);
    await writer.close();
    const lines = await linesOf();
    const lost = lines.findIndex((line) => line.kind === 'lost');
    expect(lines[lost]).toMatchObject({ kind: 'lost', lines: 31 });
    expect(lines.slice(lost + 1).map((line) => [line.kind, 'actor' in line ? line.actor : ''])).toEqual([
      ['actor', 'load/1'],
      ...Array.from({ length: 4 }, () => ['message', 'load/1']),
    ]);
    const { differenceCount, notes } = await replayMachines(readRecording(file()));
    expect({ differenceCount, note: notes[0] }).toEqual({
      differenceCount: 0,
      note: `31 lines were lost before ${file()}:${lost + 2}: what follows is replayed from there`,
    });
  });

  test('a disk that refuses ends the recording with a report, and nobody else hears of it', async () => {
    const faults: unknown[] = [];
    const { watch, writer } = await startRecording({
      fileBytesMax: 4096,
      report: (fault) => {
        faults.push(fault);
      },
    });
    mkdirSync(`${file()}.2/x`, { recursive: true });
    for (let round = 0; round < 50 && faults.length === 0; round++) {
      for (let i = 0; i < 40; i++) finishLoad(startLoad(watch));
      await written(writer);
    }
    finishLoad(startLoad(watch));
    await writer.close();
    expect(faults.map((fault) => (fault as NodeJS.ErrnoException).code)).toEqual(['ERR_FS_EISDIR']);
  });
});

describe('bodies', () => {
  const collect = async (
    keeper: BodyKeeper,
    chunks: readonly string[],
  ): Promise<{ readonly passed: string; readonly body: RecordedBody }> => {
    let body: Promise<RecordedBody> | undefined;
    let passed = '';
    const source = async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk);
    };
    for await (const chunk of keeper.tee(source(), (one) => {
      body = one;
    }))
      passed += Buffer.from(chunk).toString();
    return { passed, body: await body! };
  };
  const digest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

  test('the same bytes are kept once, under their digest, and read back', async () => {
    const keeper = new BodyKeeper({ folder: bodiesFolder(file()), keep: true, bytesMax: 1000, report: unexpected });
    expect(await collect(keeper, ['ab', 'c'])).toEqual({ passed: 'abc', body: { digest, bytes: 3, kept: true } });
    expect((await collect(keeper, ['abc'])).body).toEqual({ digest, bytes: 3, kept: true });
    await keeper.close();
    expect(readdirSync(bodiesFolder(file()))).toEqual([digest]);
    expect(Buffer.from(await readBody(bodiesFolder(file()), { digest, bytes: 3, kept: true })).toString()).toBe('abc');
    writeFileSync(join(bodiesFolder(file()), digest), 'abd');
    await expect(readBody(bodiesFolder(file()), { digest, bytes: 3, kept: true })).rejects.toThrow(
      'is not what was recorded',
    );
  });

  test('without -record.bodies, and beyond its limit, only the digest is told', async () => {
    const without = new BodyKeeper({ folder: join(folder, 'none'), keep: false, bytesMax: 1000, report: unexpected });
    expect((await collect(without, ['abc'])).body).toEqual({ digest, bytes: 3, kept: false });
    const full = new BodyKeeper({ folder: join(folder, 'full'), keep: true, bytesMax: 2, report: unexpected });
    expect(await collect(full, ['a', 'bc'])).toEqual({ passed: 'abc', body: { digest, bytes: 3, kept: false } });
    await full.close();
    expect(readdirSync(folder).sort()).toEqual(['full']);
    expect(readdirSync(join(folder, 'full'))).toEqual([]);
  });
});

test('a recording of that name is kept as FILE.before, with its parts and bodies, in place of the one before it', async () => {
  const record = async (): Promise<void> => {
    const recorder = await Recorder.open({
      path: file(),
      fileBytesMax: 1 << 20,
      filesMax: 2,
      keepBodies: true,
      bodyBytesMax: 1000,
      watch: new MachineWatch(),
      version: 'v0',
      options: {},
      report: unexpected,
    });
    await recorder.close();
  };
  const names = (): readonly string[] => readdirSync(folder).sort();
  await record();
  writeFileSync(`${file()}.1`, 'an older part');
  expect(names()).toEqual(['r.ndjson', 'r.ndjson.1', 'r.ndjson.bodies']);
  const first = readFileSync(file(), 'utf8');
  await record();
  expect(names()).toEqual([
    'r.ndjson',
    'r.ndjson.before',
    'r.ndjson.before.1',
    'r.ndjson.before.bodies',
    'r.ndjson.bodies',
  ]);
  expect(readFileSync(`${file()}.before`, 'utf8')).toBe(first);
  await record();
  expect(names()).toEqual(['r.ndjson', 'r.ndjson.before', 'r.ndjson.before.bodies', 'r.ndjson.bodies']);
});

test('the digest of rows does not depend on their order, nor on how they are cut', async () => {
  const of = (...chunks: readonly string[]) =>
    digestRows(
      (async function* () {
        for (const chunk of chunks) yield Buffer.from(chunk);
      })(),
    );
  const one = await of('{a:1}\n{b:2}\n{b:2}\n');
  expect(one.count).toBe(3);
  expect(await of('{b:2}\n{a', ':1}\n', '{b:2}')).toEqual(one);
  expect((await of('{a:1}\n{b:2}\n')).digest).not.toBe(one.digest);
});

describe('what cannot be replayed', () => {
  const run = async (...argv: readonly string[]): Promise<{ readonly status: number; readonly printed: string }> => {
    let printed = '';
    const status = await replayCommand(argv, {
      cwd: folder,
      stdin: (async function* () {})(),
      stdoutIsTerminal: false,
      stderrIsTerminal: false,
      write: async (chunk) => {
        printed += Buffer.from(chunk).toString();
      },
      complain: unexpected,
    });
    return { status, printed };
  };
  const header = {
    kind: 'header',
    format: recordFormat,
    service: 'v0',
    recording: 'one',
    part: 1,
    ms: 0,
    bodies: 'digest',
    options: {},
  };
  const write = (...lines: readonly unknown[]): void => {
    writeFileSync(file(), lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  };
  const refusals: readonly (readonly [what: string, lines: readonly unknown[], text: string])[] = [
    ['an empty file', [], 'r.ndjson, line 1: it is empty'],
    ['another file', ['hello', 'world'], 'r.ndjson, line 1: it is no JSON'],
    ['another JSON', [{ a: 1 }], 'r.ndjson, line 1: it is no line of a recording (kind null)'],
    ['no header', [{ kind: 'end', seq: 1, ms: 1 }], 'r.ndjson, line 1: it has no header'],
    ['a later format', [{ ...header, format: 99 }], 'r.ndjson, line 1: its format is 99, this version knows 1 and 2'],
  ];
  for (const [what, lines, text] of refusals) {
    test(what, async () => {
      write(...lines);
      await expect(run('r.ndjson')).rejects.toThrow(text);
    });
  }
  test('against a lake (replay-partial): pools that were there before, lost lines, a first part that is gone, a folder that is not empty', async () => {
    write(header, { kind: 'given', seq: 1, ms: 1, pool: 'aa', name: 'p', branches: [] });
    await expect(run('r.ndjson', '-lake', 'lake')).rejects.toThrow(
      'cannot be replayed against a lake: the recorded lake had pools when it began (p)',
    );
    write(header, { kind: 'lost', seq: 1, ms: 1, lines: 3 });
    await expect(run('-lake', 'lake', 'r.ndjson')).rejects.toThrow(
      'cannot be replayed against a lake: 3 lines were lost at',
    );
    write({ ...header, part: 2 });
    await expect(run('r.ndjson', '-lake', 'lake')).rejects.toThrow(
      'cannot be replayed against a lake: parts 1 to 1 are gone',
    );
    await expect(run('r.ndjson', '-lake', '.')).rejects.toThrow(
      '-lake .: not empty; a replay begins with a fresh lake',
    );
  });
  test('command lines without a file, or with one that is not there', async () => {
    await expect(run()).rejects.toThrow('lake replay needs a recording or a scenario');
    await expect(run('away')).rejects.toThrow('no such file: away');
    await expect(run('a', 'b', '-lake', 'x')).rejects.toThrow('lake replay -lake takes one file');
  });

  const scenarios: readonly (readonly [text: string, fault: string])[] = [
    ['why: [', 'Flow sequence'],
    ['steps: []', 'it does not say why'],
    ['why: x', 'it has no steps'],
    ['{why: x, steps: [{}]}', 'it must name either a machine or a lake'],
    ['{why: x, machine: door, steps: [{}]}', 'there is no machine "door"'],
    ['{why: x, machine: pool, steps: [{}]}', 'step 1 must be one of event, done, error and after'],
    ['{why: x, machine: pool, steps: [{after: 1}]}', 'step 1 does not say the state after it'],
    ['{why: x, machine: pool, steps: [{after: 1, state: a}, ~]}', 'step 2 is no map'],
    ['{why: x, machine: pool, steps: [{event: job, state: a}]}', 'step 1: its event has no type'],
    ['{why: x, machine: pool, steps: [{done: 1, state: a}]}', 'step 1 does not name the work that ended'],
    ['{why: x, machine: pool, steps: [{after: soon, state: a}]}', 'step 1: after must be a number of milliseconds'],
    ['{why: x, machine: pool, steps: [{after: 1, state: a, works: open}]}', 'step 1: emitted and works must be lists'],
    ['{why: x, machine: pool, steps: [{after: 1, state: a, context: [a]}]}', 'step 1: context must be a map'],
    ['{why: x, lake: big, steps: [{restart: true}]}', 'lake must be a map of options'],
    ['{why: x, lake: {}, steps: [{bake cake: p}]}', 'step 1: there is no step "bake cake"'],
    ['{why: x, lake: {}, steps: [{restart: true}, []]}', 'step 2 is no map'],
    ['{why: x, lake: {}, steps: [{together: a}]}', 'step 1: together must be a list of steps'],
    ['{why: x, lake: {}, steps: [{close: [{restart: true}, {bake: p}]}]}', 'step 1, 2: there is no step "bake"'],
  ];
  for (const [text, fault] of scenarios) {
    test(`scenario ${text}`, async () => {
      writeFileSync(join(folder, 's.yaml'), text);
      await expect(run('s.yaml')).rejects.toThrow(fault);
    });
  }
  test('a scenario that comes out otherwise prints the step, what was expected and what was found, and ends with status 1', async () => {
    writeFileSync(
      join(folder, 's.yaml'),
      '{why: x, machine: load, input: {poolId: p}, steps: [{event: {type: begun}, state: writing}]}',
    );
    expect(await run('s.yaml')).toEqual({
      status: 1,
      printed: 's.yaml: 1 step: 1 difference\nstep 1 (begun): state\n  expected "writing"\n  found    "receiving"\n',
    });
    writeFileSync(
      join(folder, 't.yaml'),
      '{why: x, machine: load, input: {poolId: p}, steps: [{event: {type: begun}, state: receiving}, {event: {type: knock}, state: receiving}]}',
    );
    expect(await run('t.yaml')).toEqual({
      status: 1,
      printed:
        't.yaml: 2 steps: 1 difference\nstep 2 (knock): event\n  expected "taken"\n  found    "no state takes it"\n',
    });
    writeFileSync(
      join(folder, 'u.yaml'),
      '{why: x, machine: load, input: {poolId: p}, steps: [{done: bake, state: sorting}, {event: {type: rows sorted}, state: writing}]}',
    );
    expect(await run('u.yaml')).toEqual({
      status: 1,
      printed:
        'u.yaml: 0 steps: 1 difference\nstep 1 (bake done): work\n  expected "bake"\n  found    "nothing runs"\n',
    });
  });
  test('a machine that throws is a difference of the step, or of the start', async () => {
    writeFileSync(
      join(folder, 's.yaml'),
      '{why: x, machine: lake, input: {waitingMax: 1}, steps: [{done: start, state: recovering}, {done: recover, state: ready.idle}, {event: {type: job, job: {id: 1, kind: delete pool, poolId: p}}, state: ready.working}, {done: work, state: ready.idle}]}',
    );
    expect((await run('s.yaml')).printed).toMatch(
      /^s\.yaml: 3 steps: 1 difference\nstep 4 \(work done\): event\n {2}expected "taken"\n {2}found {4}"the machine broke: /,
    );
    writeFileSync(join(folder, 't.yaml'), '{why: x, machine: subscriber, steps: [{after: 1, state: open}]}');
    expect((await run('t.yaml')).printed).toMatch(
      /^t\.yaml: 0 steps: 1 difference\nstart: input\n {2}expected "taken"\n {2}found {4}"the machine broke: /,
    );
  });
});

describe('a recording of the first format', () => {
  const path = fileURLToPath(new URL('./first-format.ndjson', import.meta.url));
  test('replays against the machines', async () => {
    expect(await replayMachines(readRecording(path))).toMatchObject({
      actors: 15,
      commits: 9,
      events: 14,
      tips: 2,
      differences: [],
      notes: [],
    });
  });
  test('is a plan for a whole lake, with the events of every job', async () => {
    const { jobs, events } = await planReplay(readRecording(path), path);
    expect([jobs.length, jobs.filter(({ event }) => event !== undefined).length, events.length]).toEqual([14, 14, 14]);
  });
  test('is shown by the page in the states that its charts have', () => {
    const reader = new RecordingReader();
    for (const line of readFileSync(path, 'utf8').trim().split('\n')) reader.line(line);
    const states = new Set(reader.finish().steps.flatMap(({ to }) => to));
    expect([states.has('committing.prepared'), states.has('closing.draining')]).toEqual([true, false]);
  });
});
