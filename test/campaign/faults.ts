/**
 * Part `faults`: the n-th system call of a kind on the lake's files fails (strace injects it; LMDB's own calls included) while the victim does a script.
 * It must neither lose what it acknowledged nor die nor hang; what it refuses it refuses with a reason, and after the disk is well again everything goes on.
 */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { faultAfter } from './kills.ts';
import type { PartRun } from './part.ts';
import { faultOfState, type LakeState, type Reference, referenceOf, runVictim } from './run-victim.ts';
import { scriptCount, scriptOf, type Step } from './scripts.ts';

/** Calls, and what each may fail with. Short writes are told as a number of bytes that is too small. */
const faults: readonly { readonly calls: string; readonly errors: readonly string[] }[] = [
  { calls: 'pwrite64,write', errors: ['error=EIO', 'error=ENOSPC', 'retval=1'] },
  { calls: 'writev', errors: ['error=EIO', 'error=ENOSPC', 'retval=512'] },
  { calls: 'fsync,fdatasync', errors: ['error=EIO', 'error=ENOSPC'] },
  { calls: 'openat', errors: ['error=EMFILE', 'error=EIO', 'error=ENOSPC'] },
  { calls: 'unlink', errors: ['error=EIO'] },
  { calls: 'mkdir', errors: ['error=ENOSPC'] },
  { calls: 'pread64,read', errors: ['error=EIO'] },
];
const blocks = 2;

export const faultsPart: PartRun = async ({ folder, seeds, count, failed }) => {
  const references = new Map<number, { readonly reference: Reference; readonly calls: readonly number[] }>();
  for (const seed of seeds) {
    const number = seed % scriptCount, script = scriptOf(number, blocks), lake = join(folder, 'lake');
    let known = references.get(number);
    if (!known) {
      const reference = await referenceOf(join(folder, `reference-${number}`), script);
      references.set(number, (known = { reference, calls: await callsOf(join(folder, `counted-${number}`), script) }));
    }
    // One seed is one place: a kind of call, its number, and what it fails with.
    // What the n-th call fails with changes from script to script.
    const places = faults.flatMap(({ calls, errors }, kind) => Array.from({ length: known.calls[kind]! }, (_, n) => ({ calls, error: errors[(n + number) % errors.length]!, n: n + 1 })));
    // All places in an order that has all kinds early: the step is a prime.
    const at = Math.floor(seed / scriptCount), place = places[(at * 7919) % places.length];
    if (!place || at >= places.length) {
      count('not reached');
      continue;
    }
    rmSync(lake, { recursive: true, force: true });
    const wrap = ['strace', '-f', '-o', '/dev/null', '-z', ...pathsOf(lake, script), '-e', `trace=${place.calls}`, '-e', `inject=${place.calls}:${place.error}:when=${place.n}`];
    const told = await runVictim(lake, script, { wrap, mode: 'states', msMax: 120_000 });
    count('faults');
    const what = `${place.calls} ${place.n} with ${place.error}`, fault = faultOfRun(told.lines, told.status, told.complaint) ?? await afterwards(lake, told.lines, script, known.reference);
    if (fault !== undefined) failed(seed, `script ${number}, ${what}: ${fault}`);
  }
};

/** The lake's files and folders, as options of strace. */
const pathsOf = (lake: string, script: readonly Step[]): readonly string[] => {
  const keys = script.flatMap((step) => [step['key'], step['to'], ...((step.do === 'group' ? step['keys'] : []) as readonly number[])]).filter((key): key is number => typeof key === 'number');
  const objects = keys.map((key) => createHash('sha1').update(String(key)).digest('hex')), log = [1, 2, 3].map((n) => `log/00000001-0000000${n}.log`);
  const names = ['', 'running', 'tables', 'tables/data.mdb', 'objects', 'log', ...log, ...objects.flatMap((id) => [`objects/${id.slice(38)}`, `objects/${id.slice(38)}/${id}`])];
  return names.flatMap((name) => ['-P', name === '' ? lake : `${lake}/${name}`]);
};

/** How often the busiest thread makes each kind of call: strace counts by thread. */
const callsOf = async (lake: string, script: readonly Step[]): Promise<readonly number[]> => {
  const out = `${lake}.calls`, all = faults.map(({ calls }) => calls).join(',');
  const told = await runVictim(lake, script, { wrap: ['strace', '-f', '-o', out, ...pathsOf(lake, script), '-e', `trace=${all}`], mode: 'states' });
  if (told.status !== 0) throw new Error(`a run without faults ended with ${told.status}: ${told.complaint}`);
  const lines = readFileSync(out, 'utf8').split('\n').filter((line) => !line.includes(' resumed>'));
  return faults.map(({ calls }) => {
    const byThread = new Map<string, number>();
    for (const line of lines) {
      const found = /^(\d+) +(\w+)\(/.exec(line);
      if (found && calls.split(',').includes(found[2]!)) byThread.set(found[1]!, (byThread.get(found[1]!) ?? 0) + 1);
    }
    return Math.max(0, ...byThread.values());
  });
};

/** Codes that a failing disk may be answered with, and those that follow from an earlier refusal. */
const reasons = /^(storage-full|lake-failed|lake-unreadable|lake-closing|object-unwritten|object-unread|object-missing|pool-not-found|branch-not-found|branch-exists|pool-exists|load-empty|commit-not-found|merge-empty|merge-conflict|revert-empty|revert-conflict|revert-vacuumed|compact-few|object-not-found|transaction-empty)$/;

const faultOfRun = (lines: readonly string[], status: number | string, complaint: string): string | undefined => {
  const started = lines.includes('ready');
  if (!started) return typeof status === 'number' && /E(IO|NOSPC|MFILE)|rror|MDB_/.test(complaint) && !/assert|SIG/.test(complaint) ? undefined : `it ended with ${status} at its start: ${complaint}`;
  let failedAt: number | undefined;
  for (const line of lines) {
    const [, word, number, code] = /^(ack|refused|begin) ([\d.]+) ?(\S*)/.exec(line) ?? [];
    // A restart may tell of the disk in the system's words.
    if (word === 'refused' && code === 'lake-failed') failedAt ??= Number(number);
    if (word === 'refused' && !reasons.test(code ?? '') && !/E(IO|NOSPC|MFILE)|Input\/output|No space|[Ss]hort|Too many open/.test(line)) return `refused without a reason: ${line}`;
    if (word === 'ack' && failedAt !== undefined && stateAt(lines, Number(number)) !== stateAt(lines, Number(number) - 1)) return `its store had failed and it took a write: ${line}`;
  }
  return status === 0 || lines.some((line) => line.startsWith('refused')) ? undefined : `it ended with ${status}: ${complaint}`;
};
const stateAt = (lines: readonly string[], step: number): string | undefined => lines.find((line) => line.startsWith(`state ${step} `))?.replace(/^state \d+ /, '');

/** What the lake holds when the disk is well again: what the victim said last, and of a step whose end it did not know all or nothing. */
const afterwards = async (lake: string, lines: readonly string[], script: readonly Step[], reference: Reference): Promise<string | undefined> => {
  const states: LakeState[] = [];
  for (let i = 0; i < script.length; i++) {
    const text = stateAt(lines, i);
    // A step whose end nobody knows, or that came to nothing: what an undisturbed run had.
    states.push(text === undefined ? reference.states[i]! : JSON.parse(text) as LakeState);
  }
  const unknown = lines.map((line) => /^refused (\d+) lake-failed/.exec(line)?.[1]).find((n) => n !== undefined);
  return faultAfter(lake, true, (found) => {
    const fault = faultOfState(found, lines, script, states);
    return fault === undefined || unknown === undefined ? fault : faultOfState(found, [`ack ${Number(unknown) - 1}`, `begin ${unknown}`], script, states.map((state, i) => (i === Number(unknown) ? reference.states[i]! : state)));
  });
};
