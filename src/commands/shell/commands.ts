/** The commands of the shell, which begin with a dot. */
import { vectorOf } from '../../vectors/builder.ts';
import { type Type, types, typeText, underType } from '../../vectors/type.ts';
import { type Value, recordValue, stringValue, underValue } from '../../vectors/value.ts';
import { valueAt } from '../../vectors/vector.ts';
import { isTerminalFormat, terminalFormats } from '../../format-names.ts';
import type { CommandWord } from './complete.ts';
import { type Head, branchNames, fromHead, poolNames, sourceName } from './lake.ts';
import type { ShellSession } from './session.ts';
import { didYouMeanName } from '../../query/analyze/suggest.ts';

/** A command of the shell. `text` says in the help what it does; `run` gives `quit` to end the shell. */
export interface ShellCommand extends CommandWord {
  readonly syntax: string;
  readonly text: string;
  readonly run: (session: ShellSession, argument: string, signal: AbortSignal) => Promise<'quit' | void>;
}

const help = async ({ output }: ShellSession): Promise<void> => output.write(`${commandsText()}\n${keysText}`);

const pools = async (session: ShellSession, _argument: string, signal: AbortSignal): Promise<void> => {
  await session.show(
    session.lake.query(
      'from :pools | sort name | cut name, order:=layout.order::string, keys:=join(map(layout.keys, lambda k: join(k, ".")), ", "), created:=ts, id:=ksuid(id)',
      { signal },
    ),
    'table',
  );
};

const views = async (session: ShellSession, _argument: string, signal: AbortSignal): Promise<void> => {
  await session.show(
    session.lake.query('from :views | sort name | cut name, query, author, changed:=ts, id:=ksuid(id)', { signal }),
    'table',
  );
};

const branches = async (session: ShellSession, argument: string, signal: AbortSignal): Promise<void> => {
  const { pool } = headOf(session, argument, '.branches POOL');
  await session.show(
    session.lake.query(
      `from ${sourceName(pool)}:branches | sort branch.name | cut name:=branch.name, commit:=ksuid(branch.commit), created:=branch.ts`,
      { signal },
    ),
    'table',
  );
};

/** What is in use, or what is to be. Names are looked up, so that a wrong one is told now. */
const use = async (session: ShellSession, argument: string, signal: AbortSignal): Promise<void> => {
  if (argument !== '') session.head = await knownHead(session, parseHead(argument), signal);
  const { head } = session;
  await session.output.write(head ? `using ${headText(head)}\n` : 'no pool in use (.use POOL[@BRANCH])\n');
};

/** The pool and branch of `POOL[@BRANCH]`; the last `@` counts. */
export const parseHead = (text: string): Head => {
  const at = text.lastIndexOf('@');
  return at <= 0 ? { pool: text } : { pool: text.slice(0, at), branch: text.slice(at + 1) };
};
/** `POOL@BRANCH`, with `main` where no branch is named. */
const headText = ({ pool, branch }: Head): string => `${pool}@${branch ?? 'main'}`;

/**
 * The same head, once pool and branch were looked up; a commit's id is taken as it is. @throws Error that names what is
 * not there, and what was perhaps meant
 */
export const knownHead = async (
  session: Pick<ShellSession, 'lake'>,
  head: Head,
  signal?: AbortSignal,
): Promise<Head> => {
  const names = await poolNames(session.lake, signal);
  if (!names.includes(head.pool)) throw new Error(`${head.pool}: pool not found${hinted(head.pool, names)}`);
  const found = await branchNames(session.lake, head.pool, signal);
  const branch = head.branch ?? 'main';
  // A commit's id is no branch, and may be used all the same.
  if (!found.includes(branch) && !/^(?:0x[0-9a-f]{40}|[0-9A-Za-z]{27})$/i.test(branch))
    throw new Error(`${head.pool}: "${branch}": branch not found${hinted(branch, found)}`);
  return head;
};
const hinted = (name: string, names: readonly string[]): string => {
  const hint = didYouMeanName(name, names);
  return hint === undefined ? '' : `\nhint: ${hint}`;
};

const tags = async (session: ShellSession, argument: string, signal: AbortSignal): Promise<void> => {
  const { pool } = headOf(session, argument, '.tags POOL');
  await session.show(
    session.lake.query(
      `from ${sourceName(pool)}:tags | sort tag.name | cut name:=tag.name, commit:=ksuid(tag.commit), created:=tag.ts`,
      { signal },
    ),
    'table',
  );
};

const headOf = (session: ShellSession, argument: string, syntax: string): Head => {
  const head = argument === '' ? session.head : parseHead(argument);
  if (!head) throw new Error(`no pool in use: ${syntax}, or .use one first`);
  return head;
};

/** Fields of all values of a branch, with their types and how many values it has. */
const schema = async (session: ShellSession, argument: string, signal: AbortSignal): Promise<void> => {
  const head = headOf(session, argument, '.schema POOL[@BRANCH]');
  let count = '0';
  let type: Type = types.null;
  for await (const batch of session.lake.query(`${fromHead(head)} | count:=count(), type:=fuse(this)`, { signal })) {
    const { data } = underValue(valueAt(batch, batch.length - 1));
    const [n, t] = data as readonly [number | bigint, Type];
    count = BigInt(n).toLocaleString('en');
    type = t;
  }
  const fields = fieldsOf(type);
  await session.output.write(`${headText(head)}: ${count} ${count === '1' ? 'value' : 'values'}\n`);
  if (count === '0') return;
  async function* rows(): AsyncGenerator<ReturnType<typeof vectorOf>> {
    yield vectorOf(fields.length > 0 ? fields : [recordValue([{ name: 'type', value: stringValue(typeText(type)) }])]);
  }
  await session.show(rows(), 'table');
};

const nestingMax = 8;
const fieldsOf = (type: Type, path = '', depth = 0): readonly Value[] => {
  const under = underType(type);
  const members = under.kind === 'union' ? under.members.map(underType) : [under];
  const records = members.flatMap((m) => (m.kind === 'record' ? [m] : []));
  return records.flatMap((record) =>
    record.fields.flatMap((f) => {
      const name = path === '' ? f.name : `${path}.${f.name}`;
      const inner = depth < nestingMax ? fieldsOf(f.type, name, depth + 1) : [];
      const own = recordValue([
        { name: 'field', value: stringValue(name) },
        { name: 'type', value: stringValue(inner.length > 0 ? 'record' : typeText(f.type)) },
        { name: 'optional', value: stringValue(f.optional ? 'yes' : '') },
      ]);
      return [own, ...inner];
    }),
  );
};

const mode = async (session: ShellSession, argument: string): Promise<void> => {
  const [name = '', indent] = argument.split(/\s+/);
  if (name !== '') {
    if (!isTerminalFormat(name)) throw new Error(`.mode ${name}: no such mode (one of ${terminalFormats.join(', ')})`);
    if (indent !== undefined && !/^\d{1,2}$/.test(indent))
      throw new Error(`.mode ${name} ${indent}: the indent is a number of blanks`);
    session.mode = name;
    session.indent = Number(indent ?? 0);
  }
  await session.output.write(`mode ${session.mode}${session.indent > 0 ? ` ${session.indent}` : ''}\n`);
};

const timing = async (session: ShellSession, argument: string): Promise<void> => {
  if (!/^(?:on|off|)$/i.test(argument)) throw new Error(`.timing ${argument}: on or off`);
  session.timing = argument === '' ? !session.timing : argument.toLowerCase() === 'on';
  await session.output.write(`timing ${session.timing ? 'on' : 'off'}\n`);
};

const quit = (): Promise<'quit'> => Promise.resolve('quit');

/** All commands, as the help lists them. */
export const shellCommands: readonly ShellCommand[] = [
  { name: 'help', syntax: '.help', text: 'lists commands and keys', run: help },
  { name: 'pools', syntax: '.pools', text: 'lists the pools', run: pools },
  { name: 'views', syntax: '.views', text: 'lists the views', run: views },
  {
    name: 'branches',
    syntax: '.branches [POOL]',
    text: 'lists the branches of a pool',
    argument: 'pool',
    run: branches,
  },
  {
    name: 'tags',
    syntax: '.tags [POOL]',
    text: 'lists the tags of a pool',
    argument: 'pool',
    run: tags,
  },
  {
    name: 'use',
    syntax: '.use [POOL[@BRANCH]]',
    text: 'sets what queries without from read; shows it',
    argument: 'pool',
    run: use,
  },
  {
    name: 'schema',
    syntax: '.schema [POOL[@BRANCH]]',
    text: 'shows the fields of all values and their types',
    argument: 'pool',
    run: schema,
  },
  {
    name: 'mode',
    syntax: '.mode [MODE [INDENT]]',
    text: `sets how results look: ${terminalFormats.join(', ')}; sup and json may be indented`,
    argument: 'mode',
    run: mode,
  },
  {
    name: 'timing',
    syntax: '.timing [on|off]',
    text: 'whether rows and time are shown after each result',
    argument: 'switch',
    run: timing,
  },
  { name: 'quit', syntax: '.quit', text: 'ends the shell (.exit and Ctrl-D too)', run: quit },
  { name: 'exit', syntax: '.exit', text: 'ends the shell', run: quit },
];

/** One line a command. */
export const commandsText = (): string =>
  shellCommands
    .filter((c) => c.name !== 'exit')
    .map((c) => `  ${c.syntax.padEnd(25)}${c.text}\n`)
    .join('');

/** What the help says of keys. */
export const keysText = `A query goes on while brackets or strings are open and behind a line that ends with | or \\; a semicolon or an empty line ends it.
Tab completes operators, functions, pools, views, branches, tags and fields. Up and down go through earlier queries.
Ctrl-C cancels the running query, or clears what is typed; twice at an empty prompt it ends the shell, as Ctrl-D does.
`;
