/** `lake load`: sends files to a branch of a running service, one commit a file, or follows files as they grow. */
import { optionsText } from '../../config/help.ts';
import { ConfigError, parseOptions } from '../../config/options.ts';
import { loadOptions, type LoadOptions } from '../../config/tables.ts';
import { LakeError, messageOf } from '../../errors.ts';
import type { CommandIo } from '../io.ts';
import { ProgressLines } from '../progress.ts';
import { type LoadInput, inputsOf } from './inputs.ts';
import { type Loaded, type Told, send } from './send.ts';
import { FileFault } from './hive.ts';
import { Refused, type Target, targetOf } from './service.ts';

/** Runs the command; gives its exit status. @throws ConfigError, and what the service refuses */
export const loadCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const options = parseOptions(loadOptions, argv, process.env);
  const { values, rest, help } = options;
  if (help) {
    await io.write(Buffer.from(optionsText('load', loadOptions)));
    return 0;
  }
  const target = targetOf(options);
  if (rest.length === 0) throw new ConfigError('lake load: no files (- is standard input)');
  if (values['dryrun'] && values['follow']) throw new ConfigError('lake load: -dryrun and -follow exclude each other');
  if (values['hive'] && values['follow']) throw new ConfigError('lake load: -hive and -follow exclude each other');
  if (values['dryrun'])
    return (await import('./dry-run.ts')).dryRun(target, inputsOf(rest, io.cwd, values['hive']), options, io);
  if (target.pool === '') throw new ConfigError('lake load: -use POOL[@BRANCH] says where to load');
  if (values['follow']) return (await import('./follow.ts')).follow(target, rest, options, io);
  await sendAll(target, inputsOf(rest, io.cwd, values['hive']), options, io);
  return 0;
};

/**
 * Sends inputs side by side; a commit is told when it was made. The first that fails keeps those from being sent that
 * were not begun. @throws what went wrong first
 */
const sendAll = async (
  target: Target,
  inputs: readonly LoadInput[],
  options: LoadOptions,
  given: CommandIo,
): Promise<void> => {
  const lines = new ProgressLines(given);
  const io = lines.aside();
  const faults: unknown[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (faults.length === 0 && next < inputs.length) {
      const input = inputs[next++];
      try {
        await report(await send(target, input, options, { io, line: lines.begin() }), input, io);
      } catch (problem) {
        faults.push(named(input, problem));
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(inputs.length, options.values['parallel']) }, work));
  const [first, ...others] = faults;
  if (first === undefined) return;
  for (const fault of others) io.complain(`${messageOf(fault)}\n`);
  const left = inputs.length - next;
  if (left > 0) io.complain(`${left} of ${inputs.length} inputs were not begun, the next is ${inputs[next].name}\n`);
  throw first;
};

const report = async ({ commit, warnings, told }: Loaded, { name }: LoadInput, io: CommandIo): Promise<void> => {
  for (const warning of warnings) io.complain(`${name}: warning: ${warning}\n`);
  await io.write(Buffer.from(`${commit} ${name}${countsOf(told)}\n`));
  for (const { line, error } of told.faults ?? []) io.complain(`${name}: line ${line}: ${error}\n`);
};
const countsOf = ({ records, faulty, rejected }: Told): string =>
  records === undefined
    ? ''
    : `: ${records} records, ${faulty ?? 0} faulty${rejected === undefined ? '' : `, in commit ${rejected}`}`;

/** What concerns the service alone names no input. */
const named = ({ name }: LoadInput, problem: unknown): unknown =>
  problem instanceof Refused || problem instanceof FileFault || problem instanceof LakeError
    ? new Error(`${name}: ${problem.message}`, { cause: problem })
    : problem;
