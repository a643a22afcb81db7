/** The commands of the program, and its help as text. */
import { type OptionRow, environmentName } from './options.ts';
import {
  branchOptions,
  diffOptions,
  cloneOptions,
  promoteOptions,
  fsckOptions,
  importOptions,
  keyOptions,
  loadOptions,
  logOptions,
  mergeOptions,
  pickOptions,
  queryOptions,
  replayOptions,
  resetOptions,
  revertOptions,
  serveOptions,
  shellOptions,
  tagOptions,
  transactionOptions,
} from './tables.ts';

interface Command {
  readonly name: string;
  readonly text: string;
  readonly options: readonly OptionRow[];
  /** What stands behind the options. */
  readonly usage: string;
  /** The README tells of those of one group together. */
  readonly group?: 'versions';
}
/** Commands of the program, with the line that `lake help` prints. */
export const commands = [
  { name: 'serve', text: 'runs the service', options: serveOptions, usage: '' },
  {
    name: 'query',
    text: 'runs a query over files or standard input, without a service',
    options: queryOptions,
    usage: ' [FILE ...]',
  },
  {
    name: 'load',
    text: 'loads files into a branch of a running service',
    options: loadOptions,
    usage: ' FILE, FOLDER, GLOB or URL ...',
  },
  {
    name: 'log',
    group: 'versions',
    text: 'lists the commits of a branch, the newest first',
    options: logOptions,
    usage: ' [REVISION]',
  },
  {
    name: 'diff',
    group: 'versions',
    text: 'shows the records that differ between two revisions',
    options: diffOptions,
    usage: ' A B',
  },
  {
    name: 'branch',
    group: 'versions',
    text: 'lists, creates and deletes branches',
    options: branchOptions,
    usage: ' [NAME [REVISION]]',
  },
  {
    name: 'tag',
    group: 'versions',
    text: 'lists, creates and deletes tags',
    options: tagOptions,
    usage: ' [NAME [REVISION]]',
  },
  {
    name: 'merge',
    group: 'versions',
    text: 'merges a branch into another one',
    options: mergeOptions,
    usage: ' BRANCH',
  },
  { name: 'revert', group: 'versions', text: 'undoes a commit by a new one', options: revertOptions, usage: ' COMMIT' },
  {
    name: 'pick',
    group: 'versions',
    text: 'does to a branch what commits of another one did',
    options: pickOptions,
    usage: ' COMMIT|A..B',
  },
  {
    name: 'reset',
    group: 'versions',
    text: 'moves a branch to another commit',
    options: resetOptions,
    usage: ' REVISION',
  },
  {
    name: 'transaction',
    group: 'versions',
    text: 'makes commits in several pools, all or none',
    options: transactionOptions,
    usage: ' FILE',
  },
  {
    name: 'import',
    text: 'copies the pools of a SuperDB lake, with their commits, into a lake that no service has open',
    options: importOptions,
    usage: ' FOLDER',
  },
  { name: 'shell', text: 'asks a running service, or a lake that it opens itself', options: shellOptions, usage: '' },
  {
    name: 'clone',
    text: 'copies a lake as it is at one moment, between folders and buckets',
    options: cloneOptions,
    usage: ' FROM TO',
  },
  {
    name: 'promote',
    text: 'makes a standby the writer of its bucket, at once',
    options: promoteOptions,
    usage: '',
  },
  { name: 'fsck', text: 'checks a lake that no service has open, repairs it', options: fsckOptions, usage: '' },
  {
    name: 'key',
    text: 'adds, lists and revokes the API keys of a lake',
    options: keyOptions,
    usage: ' add, list, revoke [NAME ...]',
  },
  {
    name: 'replay',
    text: 'runs a recording or a scenario again and compares',
    options: replayOptions,
    usage: ' FILE ...',
  },
  { name: 'completion', text: 'prints the completions of a shell', options: [], usage: ' bash, zsh or fish' },
] as const satisfies readonly Command[];

const nameWidth = Math.max(...commands.map(({ name }) => name.length)) + 2;

/** The text of `lake help`. */
export const helpText = (): string =>
  [
    'usage: lake COMMAND [OPTION ...]',
    '',
    ...commands.map((c) => `  ${c.name.padEnd(nameWidth)}${c.text}`),
    '',
    'lake COMMAND -h lists the options of a command.',
    '',
  ].join('\n');

/** The text of `lake COMMAND -h`. */
export const optionsText = (command: string, rows: readonly OptionRow[]): string => {
  const usage = commands.find((c) => c.name === command)?.usage ?? '';
  const left = (row: OptionRow): string => `-${row.name}${row.value ? ` ${row.value}` : ''}`;
  const width = Math.max(0, ...rows.map((row) => left(row).length)) + 2;
  const lines = rows.map(
    (row) =>
      `  ${left(row).padEnd(width)}${row.text}${row.type === 'switch' && row.fallback === 'false' ? '' : row.fallback ? ` (default ${row.fallback})` : ''}`,
  );
  const outside = rows.filter((row) => row.environment);
  const example = outside[0] && `-${outside[0].name} is ${environmentName(outside[0].name)}`;
  const which = outside.length === rows.length ? 'Options' : 'Some options';
  const note = example ? ['', `${which} can come from the environment too: ${example}.`] : [];
  return [`usage: lake ${command}${rows.length > 0 ? ' [OPTION ...]' : ''}${usage}`, '', ...lines, ...note, ''].join(
    '\n',
  );
};
