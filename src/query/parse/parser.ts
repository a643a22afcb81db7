/**
 * SuperSQL text to syntax tree: a recursive-descent parser with ordered choice, like the PEG of grammar.md, section by
 * section: `parser-program` (declarations, pipelines), `parser-operators` and `parser-implied`, `parser-sources`,
 * `parser-search`, `parser-sql`, `parser-expressions` and `parser-primaries`, `parser-calls`, `parser-types`,
 * `parser-literals`, `parser-strings`.
 */
import type { QueryNode } from '../ast.ts';
import { brokenStatement, foreignClause, foreignStatement } from './foreign-syntax.ts';
import { CompileError } from './error.ts';
import { parseQuery } from './program.ts';
import { parseChangeStatement } from './sql/changes.ts';
import { parseViewStatement } from './sql/views.ts';
import { depthError, queryDepthMaxDefault, Scanner } from './scanner.ts';

/** Bounds that a text has to keep. */
interface ParseOptions {
  /** Bound of nesting in the text; the tree may be twice as deep. The default is safe on the stack of any thread. */
  readonly queryDepthMax?: number;
  /** Bytes of the texts before this one, which places count along. */
  readonly base?: number;
}

/**
 * Parses a whole query text. The empty text is `pass`. @throws CompileError `parse error` at the furthest place, or
 * `query nested too deeply`.
 */
export function parse(text: string, options: ParseOptions = {}): QueryNode {
  const depthMax = options.queryDepthMax ?? queryDepthMaxDefault;
  if (text === '') return { kind: 'query', decls: [], ops: [{ kind: 'pass-op', start: 0, end: 0 }], start: 0, end: 0 };
  const scanner = new Scanner(text, depthMax, options.base);
  const query = parseProgram(scanner, depthMax);
  // A tree is never deeper than its text is long.
  if (text.length > depthMax) checkDepth(query, 2 * depthMax);
  return query;
}

function parseProgram(s: Scanner, depthMax: number): QueryNode {
  // How far the text was a statement; as a query it may be read further, by chance.
  let reached = 0;
  try {
    s.skip();
    const start = s.pos;
    const statement = parseViewStatement(s) ?? parseChangeStatement(s);
    if (statement !== undefined && isAtEnd(s)) return statement;
    reached = Math.max(s.furthest, s.pos);
    s.pos = start;
    const query = parseQuery(s);
    if (query !== undefined && isAtEnd(s)) return query;
  } catch (error) {
    // The bound is meant to keep clear of this; a caller with a small stack or a high bound may still get here.
    if (error instanceof RangeError) throw depthError(s.byte(s.pos), depthMax);
    throw error;
  }
  s.fail();
  throw new CompileError([
    foreignStatement(s.text) ??
      brokenStatement(s.text, reached) ??
      foreignClause(s.text, s.furthest) ?? { message: 'parse error', start: s.byte(s.furthest), end: -1 },
  ]);
}

const isAtEnd = (s: Scanner): boolean => {
  s.takeNext(';');
  s.skip();
  return s.pos === s.text.length;
};

/**
 * Walks the tree without recursion. Chains (`1+1+1+..`, `a.b.c..`) nest as deep as they are long, though their text
 * does not.
 */
function checkDepth(root: QueryNode, depthMax: number): void {
  const nodes: object[] = [root];
  const depths: number[] = [1];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    const depth = depths.pop()!;
    if (depth > depthMax) throw depthError((node as QueryNode).start, depthMax);
    for (const value of Object.values(node)) {
      if (typeof value !== 'object' || value === null) continue;
      nodes.push(value);
      depths.push(Array.isArray(value) ? depth : depth + 1);
    }
  }
}
