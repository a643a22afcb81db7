/** Search expressions: words, patterns and literals become tests over everything inside a value. */
import { boolValue } from '../../vectors/value.ts';
import type { Analysis } from './context.ts';
import { type ExprContext, checkRegexp, lowerExpr } from './exprs.ts';
import type { SearchNode } from '../ast.ts';
import { literal } from '../plan/walk.ts';
import type { PlanExpr } from '../plan/plan.ts';

/** A search as a predicate over `this`. */
export const lowerSearch = (a: Analysis, e: SearchNode, c: ExprContext): PlanExpr => {
  const operand: PlanExpr = { kind: 'this' };
  switch (e.kind) {
    case 'search-binary':
      return { kind: e.op, left: lowerSearch(a, e.left, c), right: lowerSearch(a, e.right, c) };
    case 'search-not':
      return { kind: 'not', operand: lowerSearch(a, e.search, c) };
    case 'search-word':
      return { kind: 'searchText', operand, text: e.text };
    case 'search-glob':
      return { kind: 'searchRegexp', operand, pattern: globPattern(e.pattern), anchored: true };
    case 'search-regexp':
      checkRegexp(a, e.pattern, e);
      return { kind: 'searchRegexp', operand, pattern: e.pattern, anchored: false };
    case 'search-literal': {
      if (e.literal.kind === 'literal' && e.literal.type === 'null')
        return { kind: 'searchText', operand, text: e.text };
      const value = a.constant(lowerExpr(a, e.literal, c))?.value;
      return value ? { kind: 'searchValue', operand, value, text: e.text } : literal(boolValue(false));
    }
    case 'search-expr':
      return lowerExpr(a, e.expr, c);
  }
};

const controls: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v' };

/**
 * A glob as a regular expression: `*` is any run of characters, escapes stand for themselves, all else is plain text.
 */
const globPattern = (glob: string): string => {
  let out = '';
  for (let i = 0; i < glob.length; i++) {
    let ch = glob[i];
    if (ch === '*') {
      out += '.*';
      continue;
    }
    if (ch === '\\' && i + 1 < glob.length) {
      ch = glob[++i];
      const unicode = ch === 'u' ? /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))/.exec(glob.slice(i + 1)) : null;
      if (unicode) {
        i += unicode[0].length;
        ch = String.fromCodePoint(Number.parseInt(unicode[1] ?? unicode[2], 16));
      } else ch = controls[ch] ?? ch;
    }
    out += ch.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replace('\\/', '/');
  }
  return out;
};
