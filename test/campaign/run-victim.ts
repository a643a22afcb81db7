/**
 * Runs the victim, reads what it said, and tells which states of the lake that allows. The book is kept here, outside
 * of the victim.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Step } from './scripts.ts';

export const victim = fileURLToPath(new URL('./victim.mjs', import.meta.url));

/** Pool -> branch -> keys. */
export type LakeState = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
export interface Told {
  readonly status: number | string;
  readonly lines: readonly string[];
  readonly complaint: string;
}

/** `wrap`: a command that runs it, strace for one. */
export const runVictim = (
  directory: string,
  script: readonly Step[],
  options: {
    readonly mode?: string;
    readonly killAt?: string;
    readonly wrap?: readonly string[];
    readonly msMax?: number;
  } = {},
): Promise<Told> =>
  new Promise((resolve, reject) => {
    const [command, ...argv] = [
      ...(options.wrap ?? []),
      process.execPath,
      victim,
      directory,
      JSON.stringify(script),
      options.mode ?? '',
    ];
    const child = spawn(command!, argv, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        UV_THREADPOOL_SIZE: options.wrap ? '1' : '4',
        LAKE_KILL_AT: options.killAt ?? '',
      },
    });
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      complaint += 'it hung';
    }, options.msMax ?? 300_000);
    let out = '';
    let complaint = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString()).slice(-4000);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ status: code ?? signal ?? '', lines: out.split('\n').filter((line) => line !== ''), complaint });
    });
  });

/** What an undisturbed run holds after each step, and how often it came by each kill point. */
export interface Reference {
  readonly states: readonly LakeState[];
  readonly points: readonly (readonly [string, number])[];
}
export const referenceOf = async (directory: string, script: readonly Step[]): Promise<Reference> => {
  const told = await runVictim(directory, script, { mode: 'states', killAt: 'count' });
  if (told.status !== 0) throw new Error(`an undisturbed run ended with ${told.status}: ${told.complaint}`);
  const states = told.lines.flatMap((line) => {
    const found = /^state (\d+) (.*)$/.exec(line);
    return found ? [JSON.parse(found[2]!) as LakeState] : [];
  });
  const points = JSON.parse(told.lines.find((line) => line.startsWith('points '))!.slice(7)) as [string, number][];
  return { states, points };
};

export const canonical = (state: LakeState): string =>
  JSON.stringify(
    Object.keys(state)
      .sort()
      .map((pool) => [
        pool,
        Object.keys(state[pool]!)
          .sort()
          .map((branch) => [branch, [...state[pool]![branch]!].sort((a, b) => a - b)]),
      ]),
  );

/**
 * What is wrong with a state, if anything: it must be that of the last step that was acknowledged (or refused), or that
 * of the one which had begun. Of a group each load that was acknowledged is there, the others may be.
 */
export const faultOfState = (
  found: LakeState,
  lines: readonly string[],
  script: readonly Step[],
  states: readonly LakeState[],
): string | undefined => {
  let last = -1;
  let begun = -1;
  const acknowledged = new Set<string>();
  for (const line of lines) {
    const [word, number] = line.split(' ');
    if (word === 'begin') begun = Number(number);
    else if (word === 'ack' && number!.includes('.')) acknowledged.add(number!);
    else if (word === 'ack' || word === 'refused') last = Number(number);
  }
  const before = last < 0 ? {} : states[last]!;
  const text = canonical(found);
  if (text === canonical(before)) {
    if ([...acknowledged].some((name) => Number(name.split('.')[0]) > last))
      return `loads ${[...acknowledged].join(', ')} were acknowledged and are lost: ${text}`;
    return undefined;
  }
  if (begun <= last) return `after step ${last}: ${text} in place of ${canonical(before)}`;
  if (text === canonical(states[begun]!)) return undefined;
  const step = script[begun]!;
  if (step.do === 'group') {
    const main = found['p']?.['main'] ?? [];
    const old = before['p']!['main']!;
    const keys = step['keys'] as readonly number[];
    const rest = canonical({ ...found, p: { ...found['p'], main: main.filter((key) => !keys.includes(key)) } });
    const lost = keys.filter((key, j) => acknowledged.has(`${begun}.${j}`) && !main.includes(key));
    if (rest === canonical({ ...before, p: { ...before['p'], main: old } }) && lost.length === 0) return undefined;
    return `in group ${begun}: ${lost.length > 0 ? `keys ${lost.join(', ')} were acknowledged and are lost` : 'something else changed'}: ${text}`;
  }
  return `in step ${begun} (${step.do}): ${text}, neither ${canonical(before)} nor ${canonical(states[begun]!)}`;
};
