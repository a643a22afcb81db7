/**
 * How much work a plan is for each row that it reads, by weights of what it does: whether threads had better share it.
 * They are nanoseconds on one core, as far as one number can tell; only what takes long has to be told from what does
 * not.
 */
import { conjuncts, exprsOf, partsOf, pathOf } from './walk.ts';
import type { PlanExpr, PlanOp } from './plan.ts';

/** Of an operator, of a key of a group, and of an aggregate. */
const operatorNs = 5;
const keyNs = 15;
const aggregateNs = 8;
const distinctNs = 40;
const storedNs = 2;
/** Of what an expression is made of, without its parts. */
const partNs = (e: PlanExpr): number => {
  switch (e.kind) {
    case 'literal':
    case 'this':
      return 0;
    case 'field':
    case 'negate':
    case 'not':
    case 'and':
    case 'or':
    case 'arithmetic':
    case 'compare':
    case 'isNull':
      return 4;
    case 'like':
    case 'searchText':
      return 40;
    case 'match':
    case 'searchRegexp':
      return regexpNs;
    case 'call':
      return isRegexp(e.name) ? regexpNs : callNs;
    default:
      return callNs;
  }
};
const callNs = 20;
const regexpNs = 400;
const isRegexp = (name: string): boolean => name.startsWith('regexp');

/** Nanoseconds for each row of the scan that the operators begin with; each test of a filter leaves half of them, as a guess. */
export const nsOfRow = (ops: readonly PlanOp[]): number => {
  let ns = 0;
  let kept = 1;
  for (const op of ops) {
    ns += kept * nsOfOp(op);
    const test = op.kind === 'filter' ? op.expr : op.kind === 'scan' ? op.filter : undefined;
    if (test) kept /= 2 ** conjuncts(test).length;
  }
  return ns;
};

const nsOfOp = (op: PlanOp): number => {
  if (op.kind === 'scan') return operatorNs + (op.filter ? nsOfTest(op.filter) : 0);
  const own = operatorNs + sum(exprsOf(op), nsOfExpr);
  if (op.kind !== 'aggregate') return own;
  return own + op.keys.length * keyNs + sum(op.aggregates, (a) => (a.aggregate.distinct ? distinctNs : aggregateNs));
};

/** Columns are compared with constants as they are stored. */
const nsOfTest = (test: PlanExpr): number =>
  sum(conjuncts(test), (e) => (partsOf(e).every((p) => partsOf(p).length === 0 || pathOf(p)) ? storedNs : nsOfExpr(e)));

const nsOfExpr = (e: PlanExpr): number => partNs(e) + sum(partsOf(e), nsOfExpr);

const sum = <T>(of: readonly T[], ns: (x: T) => number): number => of.reduce((all, x) => all + ns(x), 0);
