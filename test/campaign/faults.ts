/**
 * Part `faults`: the n-th system call of a kind on the lake's files fails (a preloaded shim makes it fail; LMDB's own
 * calls included) while the victim does a script. It must neither lose what it acknowledged nor die nor hang; what it
 * refuses it refuses with a reason, and after the disk is well again everything goes on.
 *
 * A seed is a script and one of `slices` shares of its places, so that seeds below `scriptCount * slices` are all
 * places of all scripts.
 */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomOf } from '../support/random.ts';
import { faultKinds, FaultVictim, type FaultTold, type Place } from './fault-victim.ts';
import { faultAfter } from './kills.ts';
import type { PartRun } from './part.ts';
import { faultOfState, type LakeState } from './run-victim.ts';
import { scriptCount, scriptOf, type Step } from './scripts.ts';

export const slices = 10;
const blocks = 2;
/** What an ended lake leaves in its process (timers, an environment that could not be closed) is not to add up. */
const runsMax = 200;

interface Known {
  readonly script: readonly Step[];
  readonly states: readonly LakeState[];
  readonly places: readonly Place[];
}

export const faultsPart: PartRun = async ({ folder, seeds, count, failed }) => {
  const disk = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'lake-faults-'));
  const scripts = new Map<number, Known>();
  const victim = new FaultVictim(folder);
  let runs = 0;
  const run = async (
    known: Pick<Known, 'script'>,
    place?: Place,
  ): Promise<{ readonly told: FaultTold; readonly lake: string }> => {
    if (++runs % runsMax === 0) await victim.end();
    const lake = join(disk, `lake-${runs}`);
    return { told: await victim.run(lake, known.script, place), lake };
  };
  try {
    for (const seed of seeds) {
      const number = seed % scriptCount;
      const slice = Math.floor(seed / scriptCount) % slices;
      const random = randomOf(seed + 104_729);
      let known = scripts.get(number);
      if (!known) {
        const script = scriptOf(number, blocks);
        const { told, lake } = await run({ script });
        rmSync(lake, { recursive: true, force: true });
        if (told.status !== 0 || !told.counted)
          throw new Error(`a run without faults ended with ${told.status}: ${told.complaint}`);
        scripts.set(
          number,
          (known = {
            script,
            states: script.map((_, i) => stateAt(told.lines, i)!),
            places: placesOf(told.counted, number),
          }),
        );
      }
      for (let i = slice; i < known.places.length; i += slices) {
        const place = known.places[i]!;
        const { told, lake } = await run(known, place);
        count(told.struck === undefined ? 'not reached' : 'faults');
        if (isOpening(told.struck) || isTextOfWrite(told)) await victim.end();
        // In a process of its own the victim may still have it open.
        const after = `${lake}.after`;
        if (existsSync(lake)) cpSync(lake, after, { recursive: true });
        // The reader of suspect tables is a process of its own; once in a while is enough here.
        if (random.below(20) > 0) rmSync(join(after, 'running'), { force: true });
        const fault =
          faultOfRun(told, known.script, count) ?? (await afterwards(after, told.lines, known, random.below(20) === 0));
        if (fault !== undefined)
          process.stderr.write(
            `script ${number}, ${faultKinds[place.kind]!.name} ${place.n} with ${place.error} (${told.struck ?? 'not reached'}): ${fault}\n`,
          );
        if (fault !== undefined)
          failed(
            seed,
            `script ${number}, ${faultKinds[place.kind]!.name} ${place.n} with ${place.error} (${told.struck ?? 'not reached'}): ${fault}`,
          );
        rmSync(lake, { recursive: true, force: true });
        rmSync(after, { recursive: true, force: true });
      }
    }
  } finally {
    await victim.end();
    rmSync(disk, { recursive: true, force: true });
  }
};

/** Every call of every kind; what the n-th one fails with changes from script to script. */
const placesOf = (counted: readonly number[], number: number): readonly Place[] =>
  faultKinds.flatMap(({ errors }, kind) =>
    Array.from({ length: counted[kind]! }, (_, n) => ({
      kind,
      n: n + 1,
      error: errors[(n + number) % errors.length]!,
    })),
  );

/** Codes that a failing disk may be answered with, and those that follow from an earlier refusal. */
const reasons =
  /^(storage-full|lake-failed|lake-unreadable|lake-closing|object-unwritten|object-unread|object-missing|pool-not-found|branch-not-found|branch-exists|tag-exists|tag-not-found|tip-moved|pool-exists|view-exists|view-not-found|load-empty|commit-not-found|merge-empty|merge-conflict|revert-empty|revert-conflict|revert-vacuumed|revert-rewritten|pick-empty|pick-conflict|compact-few|object-not-found|transaction-empty)$/;
const ofTheDisk = /E(IO|NOSPC|MFILE)|Input\/output|No space|[Ss]hort|Too many open|no room left|MDB_|, mkdir '/;

/**
 * A call of LMDB's own opening: its binding frees memory twice when one fails. Whatever can fail there was tried a
 * moment before (tables/head.ts), so that only a test meets it.
 */
const isOpening = (struck: string | undefined): boolean =>
  /^(open|pread) tables\/(data|lock)\.mdb by .*\.node$/.test(struck ?? '');

/**
 * Its text of a page that was not written is longer than its memory for it. A disk without room is found before
 * (tables.ts); what is left are writes that fail at once, which disks do not do.
 */
const isTextOfWrite = ({ struck }: FaultTold): boolean =>
  /^(pwrite|writev) tables\/data\.mdb by .*\.node$/.test(struck ?? '');

const faultOfRun = (told: FaultTold, script: readonly Step[], count: (name: string) => void): string | undefined => {
  const { lines, status, complaint, struck } = told;
  if (/^SIG(SEGV|ABRT)$/.test(String(status)) && isTextOfWrite(told)) {
    count("ended by LMDB's text of a write");
    return undefined;
  }
  if (/^SIG(SEGV|ABRT)$/.test(String(status)) && isOpening(struck)) {
    count("ended LMDB's own opening");
    return undefined;
  }
  if (typeof status === 'string') return `it ended with ${status}: ${complaint}`;
  if (!lines.includes('ready'))
    return status !== 0 && ofTheDisk.test(complaint) ? undefined : `it ended with ${status} at its start: ${complaint}`;
  let failedAt: number | undefined;
  for (const line of lines) {
    const [, word, number, code] = /^(ack|refused|begin) ([\d.]+) ?(\S*)/.exec(line) ?? [];
    // A restart may tell of the disk in the system's words.
    if (word === 'refused' && code === 'lake-failed') failedAt ??= Number(number);
    if (word === 'refused' && !reasons.test(code ?? '') && !ofTheDisk.test(line))
      return `refused without a reason: ${line}`;
    // What is opened again takes writes again.
    if (word === 'ack' && script[Number(number)]?.do === 'restart') failedAt = undefined;
    if (word === 'ack' && failedAt !== undefined && textAt(lines, Number(number)) !== textAt(lines, Number(number) - 1))
      return `its store had failed and it took a write: ${line}`;
  }
  return status === 0 || ofTheDisk.test(complaint) || lines.some((line) => line.startsWith('refused'))
    ? undefined
    : `it ended with ${status}: ${complaint}`;
};
const textAt = (lines: readonly string[], step: number): string | undefined =>
  lines.find((line) => line.startsWith(`state ${step} `))?.replace(/^state \d+ /, '');
const stateAt = (lines: readonly string[], step: number): LakeState | undefined => {
  const text = textAt(lines, step);
  return text === undefined ? undefined : (JSON.parse(text) as LakeState);
};

/**
 * What the lake holds when the disk is well again: what the victim said last, and of a step whose end it did not know
 * all or nothing.
 */
const afterwards = (
  lake: string,
  lines: readonly string[],
  { script, states }: Known,
  check: boolean,
): Promise<string | undefined> => {
  // A step whose end nobody knows, or that came to nothing: what an undisturbed run had.
  const told = script.map((_, i) => stateAt(lines, i) ?? states[i]!);
  const unknown = lines.map((line) => /^refused (\d+) lake-failed/.exec(line)?.[1]).find((n) => n !== undefined);
  return faultAfter(lake, check, (found) => {
    const fault = faultOfState(found, lines, script, told);
    return fault === undefined || unknown === undefined
      ? fault
      : faultOfState(
          found,
          [`ack ${Number(unknown) - 1}`, `begin ${unknown}`],
          script,
          told.map((state, i) => (i === Number(unknown) ? states[i]! : state)),
        );
  });
};
