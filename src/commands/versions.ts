/**
 * `lake log`, `diff`, `branch`, `tag`, `merge`, `revert`, `pick` and `reset`: versions of a pool of a running service, as one
 * types them for files. They ask the service by the typed client.
 */
import { type Branch, type CombineOptions, type Lake, type Pool, connect } from '../client/client.ts';
import { nameText } from '../client/types.ts';
import type { Time } from '../client/values.ts';
import { optionsText } from '../config/help.ts';
import { ConfigError, type OptionRow, type OptionValue, parseOptions } from '../config/options.ts';
import {
  branchOptions,
  diffOptions,
  logOptions,
  mergeOptions,
  pickOptions,
  resetOptions,
  revertOptions,
  tagOptions,
} from '../config/tables.ts';
import { conflictLines } from './conflicts.ts';
import type { CommandIo } from './io.ts';
import { noAnswer, serviceOf } from './load/service.ts';
import { harmless } from './shell/text.ts';

/** What a command works with. `branch`: that of -use. */
interface Asked {
  readonly lake: Lake;
  readonly pool: Pool;
  readonly branch: Branch;
  readonly values: Readonly<Record<string, OptionValue>>;
  readonly rest: readonly string[];
  readonly print: (line: string) => Promise<void>;
  readonly io: CommandIo;
  /** A request in the service's own words, answered as SUP. */
  readonly askSup: (path: readonly string[], query: URLSearchParams, body: string | undefined) => Promise<string>;
}
interface Command {
  readonly options: readonly OptionRow[];
  /** Arguments behind the options, at least and at most, and what they are. */
  readonly takes: readonly [least: number, most: number, what: string];
  readonly run: (asked: Asked) => Promise<void>;
}

const commits = async ({ lake, pool, branch, values, rest: [revision = branch.name], print }: Asked): Promise<void> => {
  const count = values['n'] as number;
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
const diff = async ({ lake, pool, values, rest: [base = '', revision = ''], print, io }: Asked): Promise<void> => {
  if (values['summary'] === true) {
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
  rest: [name, revision = branch.name],
  print,
}: Asked): Promise<void> => {
  if (name === undefined) {
    for (const { name: one, commit } of await pool.branches()) await print(`${commit} ${one}`);
  } else if (values['d'] === true) await pool.branch(name).delete();
  else {
    const commit = await commitOf(pool, revision);
    await pool.createBranch(name, commit);
    await print(`${commit} ${name}`);
  }
};
const tags = async ({ pool, branch, values, rest: [name, revision = branch.name], print }: Asked): Promise<void> => {
  if (name === undefined) {
    for (const { name: one, commit } of await pool.tags()) await print(`${commit} ${one}`);
  } else if (values['d'] === true) await pool.deleteTag(name);
  else await print(`${(await pool.createTag(name, await commitOf(pool, revision))).commit} ${name}`);
};

const merge = (asked: Asked): Promise<void> => combine(asked, 'merge', 'previewMerge');
const revert = (asked: Asked): Promise<void> => combine(asked, 'revert', 'previewRevert');
const pick = (asked: Asked): Promise<void> => combine(asked, 'pick', 'previewPick');
/** The commit, or what it would be and the records in conflict. @throws what refuses it */
const combine = async (
  asked: Asked,
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
  if (values['dryrun'] !== true) return print((await branch[verb](what, { ...noteOf(values), ...rule })).commit);
  const { error, recordsAdded, recordsRemoved, recordConflicts } = await branch[preview](what, rule);
  if ((recordConflicts?.count ?? 0) > 0) await tellConflicts(asked, { verb, what, rule });
  if (error !== undefined) throw new Error(error);
  return print(`${recordsAdded} records added, ${recordsRemoved} removed`);
};
/** All of them, a line each: types of keys are those that `-settle` takes. */
const tellConflicts = async (
  { askSup, pool, branch, print }: Asked,
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
const ruleOf = (values: Asked['values']): Rule => {
  const settled = values['settle'] as readonly string[];
  const resolve = values['resolve'] as string;
  if (resolve !== '' && resolve !== 'ours' && resolve !== 'theirs')
    throw new ConfigError(`bad value for -resolve: ${JSON.stringify(resolve)} (ours or theirs)`);
  return {
    ...(values['fields'] === true && { fields: true }),
    ...(resolve !== '' && { resolve }),
    ...(settled.length > 0 && { settle: `[${settled.join(',')}]` }),
  };
};
type Rule = Pick<CombineOptions, 'fields' | 'resolve'> & { readonly settle?: string };

const reset = async ({ pool, branch, values, rest: [revision = ''], print }: Asked): Promise<void> => {
  const ifMatch = values['if'] as string;
  const { commit } = await branch.reset(await commitOf(pool, revision), ifMatch === '' ? {} : { ifMatch });
  await print(`${commit} ${branch.name}`);
};

const noteOf = (values: Asked['values']): { readonly author?: string; readonly message?: string } => {
  const { user: author, message } = values as Readonly<Record<string, string>>;
  return { ...(author !== '' && { author }), ...(message !== '' && { message }) };
};
/** What a branch, a tag or an id stands for. */
const commitOf = async (pool: Pool, revision: string): Promise<string> => (await pool.sums(revision)).commit;

/** By their names. */
const commands = {
  log: { options: logOptions, takes: [0, 1, 'a branch, tag or commit'], run: commits },
  diff: { options: diffOptions, takes: [2, 2, 'two branches, tags or commits'], run: diff },
  branch: { options: branchOptions, takes: [0, 2, 'a name and a branch, tag or commit'], run: branches },
  tag: { options: tagOptions, takes: [0, 2, 'a name and a branch, tag or commit'], run: tags },
  merge: { options: mergeOptions, takes: [1, 1, 'the branch or tag that is merged into that of -use'], run: merge },
  revert: { options: revertOptions, takes: [1, 1, 'the commit that is undone'], run: revert },
  pick: {
    options: pickOptions,
    takes: [1, 1, 'a commit, or two as A..B: what is done to the branch of -use'],
    run: pick,
  },
  reset: {
    options: resetOptions,
    takes: [1, 1, 'the branch, tag or commit where the branch of -use goes'],
    run: reset,
  },
} as const satisfies Readonly<Record<string, Command>>;
/** Names of these commands. */
export type VersionCommand = keyof typeof commands;

/** Runs one of them; gives its exit status. @throws ConfigError, NoAnswer, and what the service refuses */
export const versionCommand = async (name: VersionCommand, argv: readonly string[], io: CommandIo): Promise<number> => {
  const { options, takes, run }: Command = commands[name];
  const { values, rest, help } = parseOptions(options, argv, process.env);
  if (help) {
    await io.write(Buffer.from(optionsText(name, options)));
    return 0;
  }
  const [pool = '', branch = 'main'] = (values['use'] as string).split('@');
  if (pool === '') throw new ConfigError(`lake ${name}: -use POOL[@BRANCH] says of which pool`);
  const [least, most, what] = takes;
  if (rest.length < least || rest.length > most) throw new ConfigError(`lake ${name} takes ${what}`);
  if (values['d'] === true && rest.length !== 1) throw new ConfigError(`lake ${name} -d takes one name`);
  const token = values['token'] as string;
  const service = serviceOf(values['lake'] as string);
  const lake = connect(service.href, {
    fetch: (input, init) =>
      fetch(input, init).catch((cause: unknown) => {
        throw noAnswer(service, cause);
      }),
    ...(token !== '' && { token }),
  });
  const asked = lake.pool(pool);
  const askSup: Asked['askSup'] = async (path, query, body) => {
    const url = new URL(`/${path.map(encodeURIComponent).join('/')}?${query.toString()}`, service);
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
    values,
    rest,
    io,
    askSup,
    // Names, authors and messages are anybody's.
    print: (line) => io.write(Buffer.from(`${io.stdoutIsTerminal ? harmless(line) : line}\n`)),
  });
  return 0;
};
