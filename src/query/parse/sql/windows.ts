/**
 * Windows in SQL: OVER behind a call, the WINDOW clause, QUALIFY.
 *
 * `over`, `window`, `qualify` and the words inside stay ordinary names: each is a keyword only where what follows it
 * makes it one.
 */
import type {
  AggExpr,
  CallExpr,
  Expr,
  FrameBound,
  NameNode,
  OrderKey,
  WindowDef,
  WindowExpr,
  WindowFrameNode,
  WindowSpec,
} from '../../ast.ts';
import { parseExpr } from '../expressions.ts';
import { parseOrderList } from '../operators.ts';
import { parseList, parseNameList, parseSqlId } from '../strings.ts';
import type { Scanner } from '../scanner.ts';

/** Words that may follow an alias: behind `over` or `qualify` they tell that it was one. */
const clauseWords: ReadonlySet<string> = new Set([
  'as',
  'select',
  'from',
  'where',
  'group',
  'having',
  'window',
  'qualify',
  'union',
  'intersect',
  'except',
  'order',
  'limit',
  'offset',
  'on',
  'using',
  'with',
  'join',
  'cross',
  'inner',
  'anti',
  'full',
  'left',
  'right',
  'lateral',
]);

/** A call with the OVER behind it, or the call itself. */
export function parseOver(s: Scanner, call: CallExpr | AggExpr): WindowExpr | CallExpr | AggExpr {
  if (!s.sql) return call;
  const before = s.pos;
  const nulls = parseNullTreatment(s);
  const over = nextWord(s) === 'over' ? parseOverTarget(s) : undefined;
  if (over !== undefined) return { kind: 'window', call, nulls, over, start: call.start, end: s.byte(s.pos) };
  s.pos = before;
  return call;
}

/** The next plain word in lower case, `''` if none follows; white space before it is taken, no failure noted. */
function nextWord(s: Scanner): string {
  s.skip();
  return s.peekWord().toLowerCase();
}

/** IGNORE NULLS or RESPECT NULLS. */
export function parseNullTreatment(s: Scanner): WindowExpr['nulls'] {
  const before = s.pos;
  const word = nextWord(s);
  if (word === 'ignore' || word === 'respect') {
    s.pos += word.length;
    if (s.spaceKeyword('nulls')) return word;
  }
  s.pos = before;
  return undefined;
}

/** `over` is at this place. */
function parseOverTarget(s: Scanner): NameNode | WindowSpec | undefined {
  s.pos += 'over'.length;
  const word = nextWord(s);
  if (s.code === 0x28) return parseSpec(s);
  return clauseWords.has(word) ? undefined : parseSqlId(s);
}

/** `( [base] [PARTITION BY ..] [ORDER BY ..] [frame] )`. */
function parseSpec(s: Scanner): WindowSpec | undefined {
  const start = s.pos;
  if (!s.take('(')) return undefined;
  s.nestings++;
  s.skip();
  const base = parseBase(s);
  const partitionBy = parseBy(s, 'partition', (scanner) => parseList(scanner, parseExpr)) ?? [];
  const orderBy = parseOrderBy(s) ?? [];
  const frame = parseFrame(s);
  if (s.takeNext(')'))
    return { kind: 'window-spec', base, partitionBy, orderBy, frame, start: s.byte(start), end: s.byte(s.pos) };
  s.pos = start;
  return undefined;
}

/** The name of another window: a word that begins no clause here. */
function parseBase(s: Scanner): NameNode | undefined {
  const before = s.pos;
  const word = s.peekWord().toLowerCase();
  const begins =
    word === 'partition' || word === 'order'
      ? parseBy(s, word, () => true)
      : frameUnits.has(word) && parseFrame(s) !== undefined;
  s.pos = before;
  return begins ? undefined : parseSqlId(s);
}

/** `ORDER BY keys`. */
export const parseOrderBy = (s: Scanner): readonly OrderKey[] | undefined => parseBy(s, 'order', parseOrderList);

/** `WORD BY list`. */
function parseBy<T>(s: Scanner, word: string, parse: (scanner: Scanner) => T | undefined): T | undefined {
  const before = s.pos;
  if (s.keywordNext(word) && s.spaceKeyword('by')) {
    s.skip();
    const list = parse(s);
    if (list !== undefined) return list;
  }
  s.pos = before;
  return undefined;
}

const frameUnits: ReadonlySet<string> = new Set(['rows', 'range', 'groups']);

function parseFrame(s: Scanner): WindowFrameNode | undefined {
  const before = s.pos;
  const unit = nextWord(s);
  const start = s.pos;
  if (frameUnits.has(unit)) {
    s.pos += unit.length;
    const bounds = parseBounds(s);
    if (bounds !== undefined) {
      const exclude = parseExclude(s);
      return {
        kind: 'window-frame',
        unit: unit as WindowFrameNode['unit'],
        ...bounds,
        exclude,
        start: s.byte(start),
        end: s.byte(s.pos),
      };
    }
  }
  s.pos = before;
  return undefined;
}

function parseBounds(s: Scanner): Pick<WindowFrameNode, 'first' | 'last'> | undefined {
  if (!s.space()) return undefined;
  if (s.keyword('between')) {
    s.skip();
    const first = parseBound(s);
    if (first === undefined || !s.spaceKeyword('and')) return undefined;
    s.skip();
    const last = parseBound(s);
    return last === undefined ? undefined : { first, last };
  }
  const first = parseBound(s);
  return first === undefined ? undefined : { first };
}

function parseBound(s: Scanner): FrameBound | undefined {
  const start = s.pos;
  const before = s.pos;
  const made = (bound: FrameBound['bound'], offset?: Expr): FrameBound => ({
    kind: 'frame-bound',
    bound,
    ...(offset ? { offset } : {}),
    start: s.byte(start),
    end: s.byte(s.pos),
  });
  if (s.keyword('unbounded') && s.space()) {
    if (s.keyword('preceding')) return made('unbounded preceding');
    if (s.keyword('following')) return made('unbounded following');
  }
  s.pos = before;
  if (s.keyword('current') && s.spaceKeyword('row')) return made('current row');
  s.pos = before;
  const offset = parseExpr(s);
  if (offset === undefined) return undefined;
  if (s.keywordNext('preceding')) return made('preceding', offset);
  return s.keywordNext('following') ? made('following', offset) : undefined;
}

function parseExclude(s: Scanner): WindowFrameNode['exclude'] {
  const before = s.pos;
  if (nextWord(s) === 'exclude' && s.keyword('exclude')) {
    if (s.spaceKeyword('current') && s.spaceKeyword('row')) return 'current row';
    if (s.spaceKeyword('no') && s.spaceKeyword('others')) return 'no others';
    if (s.spaceKeyword('group')) return 'group';
    if (s.spaceKeyword('ties')) return 'ties';
  }
  s.pos = before;
  return undefined;
}

/** `WINDOW name AS (..), ..`. */
export function parseWindowClause(s: Scanner): readonly WindowDef[] | undefined {
  const before = s.pos;
  s.skip();
  if (beginsWindow(s)) {
    s.pos += 'window'.length;
    s.skip();
    const defs = parseList(s, parseWindowDef);
    if (defs !== undefined) return defs;
  }
  s.pos = before;
  return undefined;
}

function parseWindowDef(s: Scanner): WindowDef | undefined {
  const name = parseSqlId(s);
  if (name === undefined || !s.keywordNext('as')) return undefined;
  s.skip();
  const spec = parseSpec(s);
  return spec === undefined ? undefined : { kind: 'window-def', name, spec, start: name.start, end: s.byte(s.pos) };
}

/** `QUALIFY predicate`. */
export function parseQualify(s: Scanner): Expr | undefined {
  const before = s.pos;
  s.skip();
  if (beginsQualify(s)) {
    s.pos += 'qualify'.length;
    s.skip();
    const expr = parseExpr(s);
    if (expr !== undefined) return expr;
  }
  s.pos = before;
  return undefined;
}

/** Whether a WINDOW or QUALIFY clause begins here, not an alias of that name. */
export function beginsWindowOrQualify(s: Scanner): boolean {
  return beginsWindow(s) || beginsQualify(s);
}

function beginsWindow(s: Scanner): boolean {
  if (s.peekWord().toLowerCase() !== 'window') return false;
  const before = s.pos;
  s.pos += 'window'.length;
  const begins = s.skip() && parseSqlId(s) !== undefined && s.keywordNext('as') && s.takeNext('(');
  s.pos = before;
  return begins;
}

function beginsQualify(s: Scanner): boolean {
  if (s.peekWord().toLowerCase() !== 'qualify') return false;
  const before = s.pos;
  s.pos += 'qualify'.length;
  s.skip();
  const aliased = endsClause(s) || (parseNameList(s, parseSqlId) !== undefined && (s.skip(), endsClause(s)));
  s.pos = before;
  return !aliased;
}

/** Nothing of the same clause follows. */
function endsClause(s: Scanner): boolean {
  return (
    s.pos >= s.text.length ||
    s.code === 0x29 ||
    s.code === 0x2c ||
    (s.code === 0x7c && s.text[s.pos + 1] !== '|') ||
    s.code === 0x3b ||
    clauseWords.has(s.peekWord().toLowerCase())
  );
}
