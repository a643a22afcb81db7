/**
 * `lake log`, `diff`, `branch`, `tag`, `merge`, `revert`, `pick` and `reset`: versions of a pool of a running service, as one
 * types them for files. They ask the service by the typed client.
 */
import { type Branch, type CombineOptions, type Lake, type Pool, connect } from '../client/client.ts';
import { LakeFailure } from '../client/failure.ts';
import { nameText } from '../client/types.ts';
import type { Time } from '../client/values.ts';
import { optionsText } from '../config/help.ts';
import { ConfigError, type OptionRow, type OptionValues, parseOptions } from '../config/options.ts';
import {
  branchOptions,
  diffOptions,
  logOptions,
  mergeOptions,
  pickOptions,
  resetOptions,
  revertOptions,
  tagOptions,
  type CommitValues,
  type NoteValues,
  type VersionValues,
} from '../config/tables.ts';
import { conflictLines } from './conflicts.ts';
import type { CommandIo } from './io.ts';
import { addressIn, poolAndBranch, serviceOf } from './load/address.ts';
import { noAnswer } from './load/service.ts';
import { harmless } from './shell/text.ts';

/** What a command works with. `branch`: that of -use. */
interface Asked<Values> {
  readonly lake: Lake;
  readonly pool: Pool;
  readonly branch: Branch;
  readonly values: Values;
  readonly rest: readonly string[];
  readonly print: (line: string) => Promise<void>;
  readonly io: CommandIo;
  /** A request in the service's own words, answered as SUP. */
  readonly askSup: (path: readonly string[], query: URLSearchParams, body: string | undefined) => Promise<string>;
}
type Takes = readonly [least: number, most: number, what: string];
interface Command<Rows extends readonly OptionRow[]> {
  readonly options: Rows;
  /** Arguments behind the options, at least and at most, and what they are. */
  readonly takes: Takes;
  readonly run: (asked: Asked<OptionValues<Rows>>) => Promise<void>;
}

const commits = async ({
  lake,
  pool,
  branch,
  values,
  rest: [revision = branch.name],
  print,
}: Asked<OptionValues<typeof logOptions>>): Promise<void> => {
  const count = values['n'];
  const names = new Map<string, string[]>();
  for (const { name, commit } of [...(await pool.branches()), ...(await pool.tags())])
    names.set(commit, [...(names.get(commit) ?? []), name]);
  const text = `from ${nameText(pool.pool)}@${nameText(revision)}:log | has(parent)${count > 0 ? ` | head ${count}` : ''}`;
  for await (const row of lake.query<CommitRow>(text)) {
    const id = `0x${Buffer.from(row.id).toString('hex')}`;
    const named = names.get(id);
    await print(`commit ${id}${named ? ` (${named.join(', ')})` : ''}`);
    if (row.author !== '') await print(`Author: ${row.author}`);
    await print(`Date:   ${String(row.date)}\n`);
    for (const line of row.message.trimEnd().split('\n')) await print(line === '' ? '' : `    ${line}`);
    await print('');
  }
};
interface CommitRow {
  readonly id: Uint8Array;
  readonly author: string;
  readonly date: Time;
  readonly message: string;
}

/**
 * A line a record: `-` for what is only in the first one, `+` for what is only in the other, `~` for both, with the paths
 * of the fields that differ.
 */
const lines =
  'values change=="removed" ? f"- {before}" : change=="added" ? f"+ {after}" : f"~ {before} -> {after} {fields}"';
const diff = async ({
  lake,
  pool,
  values,
  rest: [base = '', revision = ''],
  print,
  io,
}: Asked<OptionValues<typeof diffOptions>>): Promise<void> => {
  if (values['summary']) {
    const { fields = [], ...counts } = await pool.diffSummary(base, revision);
    for (const [name, count] of Object.entries(counts)) await print(`${name} ${count}`);
    for (const { path, count } of fields) await print(`  ${path.map(nameText).join('.')} ${count}`);
    return;
  }
  const { text } = pool.diff(revision, { base });
  for await (const chunk of await lake.query(`${text} | ${lines}`).bytes('line')) await io.write(chunk);
};

const branches = async ({
  pool,
  branch,
  values,
  rest: [name, revision],
  print,
}: Asked<OptionValues<typeof branchOptions>>): Promise<void> => {
  if (values['d']) await pool.branch(onlyName('branch', name, revision)).delete();
  else if (name === undefined) {
    for (const { name: one, commit } of await pool.branches()) await print(`${commit} ${one}`);
  } else {
    const commit = await commitOf(pool, revision ?? branch.name);
    await pool.createBranch(name, commit);
    await print(`${commit} ${name}`);
  }
};
const tags = async ({
  pool,
  branch,
  values,
  rest: [name, revision],
  print,
}: Asked<OptionValues<typeof tagOptions>>): Promise<void> => {
  if (values['d']) await pool.deleteTag(onlyName('tag', name, revision));
  else if (name === undefined) {
    for (const { name: one, commit } of await pool.tags()) await print(`${commit} ${one}`);
  } else await print(`${(await pool.createTag(name, await commitOf(pool, revision ?? branch.name))).commit} ${name}`);
};
/** What -d deletes. @throws ConfigError */
const onlyName = (command: string, name: string | undefined, more: string | undefined): string => {
  if (name === undefined || more !== undefined) throw new ConfigError(`lake ${command} -d takes one name`);
  return name;
};

const merge = (asked: Asked<CommitValues>): Promise<void> => combine(asked, 'merge', 'previewMerge');
const revert = (asked: Asked<CommitValues>): Promise<void> => combine(asked, 'revert', 'previewRevert');
const pick = (asked: Asked<CommitValues>): Promise<void> => combine(asked, 'pick', 'previewPick');
/** The commit, or what it would be and the records in conflict. @throws what refuses it */
const combine = async (
  asked: Asked<CommitValues>,
  verb: 'merge' | 'revert' | 'pick',
  preview: 'previewMerge' | 'previewRevert' | 'previewPick',
): Promise<void> => {
  const {
    branch,
    values,
    rest: [what = ''],
    print,
  } = asked;
  const rule = ruleOf(values);
  if (!values['dryrun']) return print((await branch[verb](what, { ...noteOf(values), ...rule })).commit);
  const { error, recordsAdded, recordsRemoved, recordConflicts } = await branch[preview](what, rule);
  if ((recordConflicts?.count ?? 0) > 0) await tellConflicts(asked, { verb, what, rule });
  if (error !== undefined) throw new Error(error);
  return print(`${recordsAdded} records added, ${recordsRemoved} removed`);
};
/** All of them, a line each: types of keys are those that `-settle` takes. */
const tellConflicts = async (
  { askSup, pool, branch, print }: Asked<unknown>,
  { verb, what, rule }: { readonly verb: string; readonly what: string; readonly rule: Rule },
): Promise<void> => {
  const { fields, resolve, settle } = rule;
  const path = ['pool', pool.pool, 'branch', branch.name, verb, what];
  for (let offset = 0, count = 1; offset < count; offset += conflictsOfPage) {
    const page = { dryrun: 'T', offset: String(offset), limit: String(conflictsOfPage) };
    const query = new URLSearchParams({ ...page, ...(fields && { fields: 'T' }), ...(resolve && { resolve }) });
    const found = conflictLines(await askSup(path, query, settle && `{settle:${settle}}`));
    for (const line of found.lines) await print(`! ${line}`);
    count = found.count;
  }
};
/** What a page holds at most. */
const conflictsOfPage = 1000;
const ruleOf = (values: CommitValues): Rule => {
  const settled = values['settle'];
  const resolve = values['resolve'];
  if (resolve !== '' && resolve !== 'ours' && resolve !== 'theirs')
    throw new ConfigError(`bad value for -resolve: ${JSON.stringify(resolve)} (ours or theirs)`);
  return {
    ...(values['fields'] && { fields: true }),
    ...(resolve !== '' && { resolve }),
    ...(settled.length > 0 && { settle: `[${settled.join(',')}]` }),
  };
};
type Rule = Pick<CombineOptions, 'fields' | 'resolve'> & { readonly settle?: string };

const reset = async ({
  pool,
  branch,
  values,
  rest: [revision = ''],
  print,
}: Asked<OptionValues<typeof resetOptions>>): Promise<void> => {
  const ifMatch = values['if'];
  const { commit } = await branch.reset(await commitOf(pool, revision), ifMatch === '' ? {} : { ifMatch });
  await print(`${commit} ${branch.name}`);
};

const noteOf = (values: NoteValues): { readonly author?: string; readonly message?: string } => {
  const { user: author, message } = values;
  return { ...(author !== '' && { author }), ...(message !== '' && { message }) };
};
/** What a branch, a tag or an id stands for. */
const commitOf = async (pool: Pool, revision: string): Promise<string> => (await pool.sums(revision)).commit;

/** A command line, read by the options of its command. */
interface Read {
  readonly common: VersionValues;
  readonly rest: readonly string[];
  readonly help: boolean;
  readonly run: (asked: Omit<Asked<unknown>, 'values' | 'rest'>) => Promise<void>;
}
interface Row {
  readonly options: readonly OptionRow[];
  readonly takes: Takes;
  readonly read: (argv: readonly string[]) => Read;
}
const row = <const Rows extends readonly OptionRow[]>({ options, takes, run }: Command<Rows>): Row => ({
  options,
  takes,
  read: (argv) => {
    const { values, rest, help } = parseOptions(options, argv, process.env);
    // Tables of options in general do not show that each of these begins with the common ones.
    const common = values as unknown as VersionValues;
    return { common, rest, help, run: (asked) => run({ ...asked, values, rest }) };
  },
});

/** By their names. */
const commands = {
  log: row({ options: logOptions, takes: [0, 1, 'a branch, tag or commit'], run: commits }),
  diff: row({ options: diffOptions, takes: [2, 2, 'two branches, tags or commits'], run: diff }),
  branch: row({ options: branchOptions, takes: [0, 2, 'a name and a branch, tag or commit'], run: branches }),
  tag: row({ options: tagOptions, takes: [0, 2, 'a name and a branch, tag or commit'], run: tags }),
  merge: row({
    options: mergeOptions,
    takes: [1, 1, 'the branch or tag that is merged into that of -use'],
    run: merge,
  }),
  revert: row({ options: revertOptions, takes: [1, 1, 'the commit that is undone'], run: revert }),
  pick: row({
    options: pickOptions,
    takes: [1, 1, 'a commit, or two as A..B: what is done to the branch of -use'],
    run: pick,
  }),
  reset: row({
    options: resetOptions,
    takes: [1, 1, 'the branch, tag or commit where the branch of -use goes'],
    run: reset,
  }),
};
/** Names of these commands. */
export type VersionCommand = keyof typeof commands;

/** Runs one of them; gives its exit status. @throws ConfigError, NoAnswer, and what the service refuses */
export const versionCommand = async (name: VersionCommand, argv: readonly string[], io: CommandIo): Promise<number> => {
  const { options, takes, read } = commands[name];
  const { common, rest, help, run } = read(argv);
  if (help) {
    await io.write(Buffer.from(optionsText(name, options)));
    return 0;
  }
  const { use, token, lake: address } = common;
  const { pool, branch } = poolAndBranch(use);
  if (pool === '') throw new ConfigError(`lake ${name}: -use POOL[@BRANCH] says of which pool`);
  const [least, most, what] = takes;
  if (rest.length < least || rest.length > most) throw new ConfigError(`lake ${name} takes ${what}`);
  const service = serviceOf(address);
  const lake = connect(service.href, {
    fetch: (input, init) =>
      fetch(input, init).catch((cause: unknown) => {
        throw noAnswer(service, cause);
      }),
    ...(token !== '' && { token }),
  });
  const asked = lake.pool(pool);
  const askSup: Asked<unknown>['askSup'] = async (path, query, body) => {
    const url = addressIn(service, `/${path.map(encodeURIComponent).join('/')}?${query.toString()}`);
    const headers = {
      accept: 'application/x-sup',
      'content-type': 'application/x-sup',
      ...(token !== '' && { authorization: `Bearer ${token}` }),
    };
    const response = await fetch(url, { method: 'POST', headers, ...(body !== undefined && { body }) });
    if (!response.ok) throw new Error(await response.text());
    return response.text();
  };
  await run({
    lake,
    pool: asked,
    branch: asked.branch(branch),
    io,
    askSup,
    // Names, authors and messages are anybody's.
    print: (line) => io.write(Buffer.from(`${io.stdoutIsTerminal ? harmless(line) : line}\n`)),
  }).catch((error: unknown) => {
    throw withoutQuery(error);
  });
  return 0;
};
/** A fault of a query that the command made: nobody wrote its text, so its places say nothing. */
const withoutQuery = (error: unknown): unknown =>
  error instanceof LakeFailure && error.places.length > 0
    ? new Error(error.places.map(({ message }) => message).join('\n'), { cause: error })
    : error;
