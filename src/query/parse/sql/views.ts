/**
 * CREATE, ALTER and DROP VIEW: statements that are a whole text, and no part of a query. None of their words is reserved:
 * `drop view` alone is the operator of pipes that drops a field.
 */
import type { CreateViewOp, DropViewOp, NameNode, QueryNode, RenameViewOp } from '../../ast.ts';
import { CompileError } from '../error.ts';
import { parseQuery } from '../program.ts';
import type { Scanner } from '../scanner.ts';
import { parseSourceName } from '../sources.ts';
import { parseListInBrackets, parseSqlId } from '../strings.ts';
import { isAhead } from './sets.ts';

/** The statement as a query of one operator; undefined, with the scanner where it was, if it is none. */
export const parseViewStatement = (s: Scanner): QueryNode | undefined => {
  const start = s.pos;
  const op = parseCreate(s) ?? parseAlter(s) ?? parseDrop(s);
  if (op === undefined) s.pos = start;
  return op && { kind: 'query', decls: [], ops: [op], start: op.start, end: op.end };
};

/** `CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name [(columns)] AS query`. */
const parseCreate = (s: Scanner): CreateViewOp | undefined => {
  const start = s.pos;
  if (!isAhead(s, /create\s+(?:or\s+replace\s+)?view\s/iy)) return undefined;
  const replaces = s
    .match(/create\s+(or\s+replace\s+)?view\s/iy)!
    .toLowerCase()
    .includes('replace');
  s.skip();
  const keeps = s.match(/if\s+not\s+exists\s/iy) !== undefined;
  if (keeps && replaces)
    throw new CompileError([
      {
        message: 'CREATE VIEW takes OR REPLACE or IF NOT EXISTS, not both',
        start: s.byte(start),
        end: s.byte(s.pos - 1),
      },
    ]);
  s.skip();
  const name = parseSourceName(s);
  return name && parseDefinition(s, start, name, replaces ? 'replace' : keeps ? 'keep' : 'refuse');
};
/** `[(columns)] AS query`. */
const parseDefinition = (
  s: Scanner,
  start: number,
  name: NameNode,
  existing: CreateViewOp['existing'],
): CreateViewOp | undefined => {
  s.skip();
  const columns = s.code === 0x28 ? parseColumns(s) : undefined;
  if (s.code === 0x28) return s.fail();
  s.skip();
  if (!s.keyword('as') || !s.gap()) return undefined;
  s.skip();
  const from = s.pos;
  const query = parseQuery(s);
  return (
    query && {
      kind: 'create-view-op',
      name,
      ...(columns && { columns }),
      existing,
      query,
      text: s.text.slice(from, s.pos).trim(),
      start: s.byte(start),
      end: s.byte(s.pos),
    }
  );
};
const parseColumns = (s: Scanner): readonly NameNode[] | undefined => {
  const columns = parseListInBrackets(s, () => true, parseSqlId);
  s.skip();
  return columns;
};

/** `ALTER VIEW [IF EXISTS] name RENAME TO name`, `ALTER VIEW name [(columns)] AS query`. */
const parseAlter = (s: Scanner): RenameViewOp | CreateViewOp | undefined => {
  const start = s.pos;
  if (s.match(/alter\s+view\s/iy) === undefined) return undefined;
  s.skip();
  const ifExists = s.match(/if\s+exists\s/iy) !== undefined;
  s.skip();
  const name = parseSourceName(s);
  if (name === undefined) return undefined;
  if (s.match(/\s+rename\s+to\s/iy) === undefined)
    return ifExists ? s.fail() : parseDefinition(s, start, name, 'require');
  s.skip();
  const to = parseSourceName(s);
  return to && { kind: 'rename-view-op', name, to, ifExists, start: s.byte(start), end: s.byte(s.pos) };
};

/** `DROP VIEW [IF EXISTS] name [CASCADE | RESTRICT]`: the operator `drop` has no name behind its field. */
const parseDrop = (s: Scanner): DropViewOp | undefined => {
  const start = s.pos;
  if (s.match(/drop\s+view\s/iy) === undefined) return undefined;
  s.skip();
  const ifExists = s.match(/if\s+exists\s/iy) !== undefined;
  s.skip();
  const name = parseSourceName(s);
  if (name === undefined) return undefined;
  // Nothing hangs on a view: one that reads it says so when it is read.
  s.match(/\s+(?:cascade|restrict)\b/iy);
  return { kind: 'drop-view-op', name, ifExists, start: s.byte(start), end: s.byte(s.pos) };
};
