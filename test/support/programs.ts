/** Outside programs that some tests need. Where one is absent, tests are skipped by name; with NO_SKIPS they fail. */
import { spawnSync } from 'node:child_process';

const lacks = (program: string, option: string): boolean =>
  process.platform !== 'linux' || (process.env['NO_SKIPS'] === undefined && spawnSync(program, [option]).status !== 0);

/** The tracer of system calls, of Linux alone. */
export const lacksStrace = (): boolean => lacks('strace', '-V');
/** A C compiler, for the shim under the C library of Linux. */
export const lacksCompiler = (): boolean => lacks('cc', '--version');
