/**
 * With `LAKE_TEST_CPU=FILE` each file of tests adds a line to that file when it is done: the seconds of processor time
 * that its process and all below it (services, threads, browsers, scripts) took meanwhile, and those that passed. A
 * process that its parent did not wait for, and that is gone, is missing.
 */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, expect } from 'vitest';

const ticksPerSecond = 100;

interface ProcessTimes {
  readonly parent: number;
  /** Of its own and of children that are gone. */
  readonly ticks: number;
}
/** Of `/proc/PID/stat`: what follows the name, which may have blanks. */
const timesOf = (pid: string): ProcessTimes | undefined => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    const at = (i: number): number => Number(fields[i]);
    return { parent: at(1), ticks: at(11) + at(12) + at(13) + at(14) };
  } catch {
    return undefined;
  }
};

/** Seconds of this process and all below it. */
const processorSeconds = (): number => {
  const processes = new Map<number, ProcessTimes>();
  for (const name of readdirSync('/proc')) {
    const times = /^\d+$/.test(name) ? timesOf(name) : undefined;
    if (times) processes.set(Number(name), times);
  }
  const isBelow = (pid: number): boolean =>
    pid === process.pid || (processes.has(pid) && isBelow(processes.get(pid)!.parent));
  let ticks = 0;
  for (const [pid, times] of processes) if (isBelow(pid)) ticks += times.ticks;
  return ticks / ticksPerSecond;
};

const out = process.env['LAKE_TEST_CPU'];
if (out) {
  const before = { cpu: processorSeconds(), at: performance.now() };
  afterAll(() => {
    const file = relative(process.cwd(), expect.getState().testPath ?? '');
    const cpu = processorSeconds() - before.cpu;
    const seconds = (performance.now() - before.at) / 1000;
    appendFileSync(
      out,
      `${JSON.stringify({ file, cpu: Number(cpu.toFixed(2)), seconds: Number(seconds.toFixed(2)) })}\n`,
    );
  });
}
