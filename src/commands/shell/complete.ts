/** Completion: what may stand where the cursor is, from the tables of the language and what the lake has. */
import { aggregateCatalog } from '../../exec/aggregates/aggregates.ts';
import { functionCatalog } from '../../exec/functions/functions.ts';
import { terminalFormats } from '../../format-names.ts';
import { keywords, operatorTable } from '../../query/reference/operators.ts';
import { outlineOf } from '../../query/parse/outline.ts';
import { aggregateRows, functionRows, windowRows } from '../help.ts';
import { sourceName } from './lake.ts';

/** What the lake has. */
export interface LakeWords {
  readonly pools: () => Promise<readonly string[]>;
  /** Pools and views. */
  readonly tables: () => Promise<readonly string[]>;
  readonly branches: (pool: string) => Promise<readonly string[]>;
  /** Paths of the fields of a source (`pool` or `pool@branch`); undefined: of the pool in use. */
  readonly fields: (source: string | undefined) => Promise<readonly string[]>;
}
/** Words that complete, and the text before the cursor that they replace. */
type Completion = readonly [readonly string[], string];

/** A command without its dot, and what its argument is completed by. */
export interface CommandWord {
  readonly name: string;
  readonly argument?: 'pool' | 'mode' | 'switch';
}

const declarations = ['const', 'fn', 'let', 'op', 'pragma', 'type'] as const;
const poolMetas = ['branches', 'diff', 'log', 'objects', 'partitions', 'rawlog', 'tags', 'vectors'] as const;
const operators = [...new Set(operatorTable.map((o) => o.name))];
/** Calls as pipes know them, and as SQL does. */
const callsOf = (rows: readonly { readonly name: string }[]): Readonly<Record<'pipes' | 'sql', readonly string[]>> => {
  const isOfPipes = ({ name }: { readonly name: string }): boolean =>
    (functionCatalog.find(name) ?? aggregateCatalog.find(name))?.sqlOnly !== 'all';
  const call = ({ name }: { readonly name: string }): string => `${name}(`;
  return { pipes: rows.filter(isOfPipes).map(call), sql: rows.map(call) };
};
const calls = callsOf([...functionRows, ...aggregateRows, ...windowRows]);
const statementCalls = callsOf(aggregateRows);

/** Completes the line up to the cursor; `before` are the earlier lines of the statement. */
export const complete = async (
  before: string,
  line: string,
  commands: readonly CommandWord[],
  lake: LakeWords,
): Promise<Completion> => {
  if (before === '' && /^\s*\./.test(line)) return completeCommand(line, commands, lake);
  const text = `${before}\n${line}`;
  const source = /(?:^|[\s|(])(?:from|join|load|into)\s+([^\s|(),;"']*|"[^"]*)$/i.exec(text)?.[1];
  if (source !== undefined) return completeSource(source, lake);
  if (isText(text)) return [[], ''];
  const partial = /[\p{L}\p{Nd}_$][\p{L}\p{Nd}_$.]*$/u.exec(line)?.[0] ?? '';
  const left = text.slice(0, text.length - partial.length);
  const fields = await lake.fields(sourceOf(text));
  const language = /\bselect\b/i.test(text) ? 'sql' : 'pipes';
  if (isOperatorPlace(left))
    return matching(partial, [
      ...operators,
      ...(left.trim() === '' ? declarations : []),
      ...statementCalls[language],
      ...fields,
    ]);
  return matching(partial, [...fields, ...calls[language], ...keywords]);
};

const matching = (partial: string, words: readonly string[]): Completion => {
  const lower = partial.toLowerCase();
  return [
    [...new Set(words)].filter((word) => word.toLowerCase().startsWith(lower)).sort((a, b) => (a < b ? -1 : 1)),
    partial,
  ];
};

/** The cursor is in a string, a name in backticks or a comment. */
const isText = (text: string): boolean => {
  const { open, comments } = outlineOf(text);
  const inner = open.at(-1)?.text;
  return inner === '"' || inner === "'" || inner === '`' || inner === '/*' || comments.at(-1)?.end === text.length;
};

const isOperatorPlace = (left: string): boolean =>
  left.trim() === '' || /(?:\||\|>|;|=\s*\(|\bfork\s*\(|\binto\s*\()\s*$/i.test(left);

/** The source that the statement names last. */
const sourceOf = (text: string): string | undefined => {
  const found = [...text.matchAll(/(?:^|[\s|(])from\s+([^\s|(),;"':]+)/gi)].at(-1)?.[1];
  return found !== undefined && !found.includes('*') && !found.startsWith('/') ? found : undefined;
};

const completeSource = async (partial: string, lake: LakeWords): Promise<Completion> => {
  const meta = /^(.+):(\w*)$/.exec(partial);
  const branch = /^([^@]+)@(.*)$/.exec(partial);
  if (partial.startsWith(':')) return matching(partial, [':branches', ':pools', ':tags', ':views']);
  if (meta)
    return matching(
      partial,
      poolMetas.map((name) => `${meta[1]}:${name}`),
    );
  if (branch)
    return matching(
      partial,
      (await lake.branches(unquoted(branch[1]))).map((name) => `${branch[1]}@${sourceName(name)}`),
    );
  const names = (await lake.tables()).map(sourceName);
  return matching(
    partial,
    partial.startsWith('"') ? names.map((name) => (name.startsWith('"') ? name : `"${name}"`)) : names,
  );
};
const unquoted = (name: string): string => name.replace(/^"|"$/g, '');

const completeCommand = async (
  line: string,
  commands: readonly CommandWord[],
  lake: LakeWords,
): Promise<Completion> => {
  const [, name, argument] = /^\s*(\.\w*)(?:\s+(.*))?$/.exec(line) ?? [];
  if (name === undefined) return [[], ''];
  if (argument === undefined)
    return matching(
      name,
      commands.map((c) => `.${c.name}`),
    );
  switch (commands.find((c) => `.${c.name}` === name.toLowerCase())?.argument) {
    case 'mode':
      return matching(argument, terminalFormats);
    case 'switch':
      return matching(argument, ['on', 'off']);
    case 'pool': {
      const at = argument.indexOf('@');
      const pool = argument.slice(0, at);
      return at < 0
        ? matching(argument, await lake.pools())
        : matching(
            argument,
            (await lake.branches(pool)).map((branch) => `${pool}@${branch}`),
          );
    }
    default:
      return [[], ''];
  }
};
