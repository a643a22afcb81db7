/**
 * Expressions that the engine's own RegExp matches in linear time, with the answers of RE2: it is faster, and
 * backtracks without bound only where there is something to come back to. (A query with `regexp_replace` of 750,000
 * addresses: 2.1 s of processor time by RE2, 0.5 s so.)
 *
 * What is taken: `^`, then characters and classes, once, `?`, `*` or `+`, groups, once or `?`, and `$` at the end; for
 * searches the same without `^` (below). It is linear since
 * - it starts at one place alone;
 * - a repetition ends at a character that it does not hold itself, so that what it gives back never fits what follows;
 *   or nothing that follows can fail;
 * - there are few optional parts, which double the ways to go. The expression is written again from what was read, so
 *   that no syntax means something else there than in RE2. Everything else is left to RE2.
 */

/** Code points from .. to, both included, in order and apart. */
type Ranges = readonly (readonly [number, number])[];
type Item =
  | { readonly kind: 'one'; readonly set: Ranges; readonly optional: boolean; readonly repeated: boolean }
  | { readonly kind: 'group'; readonly items: readonly Item[]; readonly captures: boolean; readonly optional: boolean }
  | { readonly kind: 'end' };

const pointMax = 0x10ffff;
const optionalMax = 4;
const cachedMax = 500;

const cached = (make: (pattern: string) => RegExp | undefined): ((pattern: string) => RegExp | undefined) => {
  const cache = new Map<string, RegExp | undefined>();
  return (pattern) => {
    if (cache.has(pattern)) return cache.get(pattern);
    if (cache.size >= cachedMax) cache.clear();
    const found = make(pattern);
    cache.set(pattern, found);
    return found;
  };
};

/** The expression for the engine; undefined for those that are RE2's. A match begins at 0. */
export const linearRegexp = cached((pattern) => {
  if (!pattern.startsWith('^')) return undefined;
  const reader = new Reader(pattern, 1);
  const items = reader.items();
  return items && reader.isAtEnd && reader.optionals <= optionalMax && isLinear(items, [])
    ? new RegExp(`^${items.map(written).join('')}`, 'u')
    : undefined;
});

/**
 * The same for a search through a text, from the expression's `lastIndex` on; no match is empty. It begins at each place,
 * and is linear since what follows a repetition cannot fail: a place where there is no match costs a few characters.
 * (`regexp_extract_all` of 21 MB, 2,800,000 words: 6.5 s of processor time by RE2, 2.9 s so.)
 */
export const linearSearch = cached((pattern) => {
  const reader = new Reader(pattern, 0);
  const items = reader.items();
  return items && reader.isAtEnd && reader.optionals <= optionalMax && takesSome(items) && isSearched(items, [])
    ? new RegExp(items.map(written).join(''), 'gu')
    : undefined;
});

/** Reads the syntax that is taken; undefined for anything else. */
class Reader {
  private at: number;
  optionals = 0;
  private readonly text: string;
  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }
  get isAtEnd(): boolean {
    return this.at === this.text.length;
  }

  items(): Item[] | undefined {
    const out: Item[] = [];
    while (!this.isAtEnd && this.text[this.at] !== ')') {
      const item = this.item();
      if (!item || out.at(-1)?.kind === 'end') return undefined;
      out.push(item);
    }
    return out;
  }
  private item(): Item | undefined {
    const { text } = this;
    if (text[this.at] === '(') return this.group();
    if (text[this.at] === '$') {
      this.at++;
      return { kind: 'end' };
    }
    const set = text[this.at] === '[' ? this.set() : this.point();
    if (!set) return undefined;
    const mark = text[this.at];
    const repeated = mark === '*' || mark === '+';
    const optional = mark === '*' || mark === '?';
    if (repeated || optional) this.at++;
    if (optional && !repeated) this.optionals++;
    return this.isQuantified() ? undefined : { kind: 'one', set, optional, repeated };
  }
  /** Lazy, counted and repeated repetitions are RE2's. */
  private isQuantified(): boolean {
    return '?*+{'.includes(this.text[this.at] ?? ' ');
  }
  private group(): Item | undefined {
    const captures = !this.text.startsWith('(?:', this.at);
    if (captures && this.text[this.at + 1] === '?') return undefined;
    this.at += captures ? 1 : 3;
    const items = this.items();
    if (!items || this.text[this.at] !== ')' || items.some((i) => i.kind === 'end')) return undefined;
    this.at++;
    const optional = this.text[this.at] === '?';
    if (optional) {
      this.at++;
      this.optionals++;
    }
    return this.isQuantified() ? undefined : { kind: 'group', items, captures, optional };
  }
  private point(): Ranges | undefined {
    const c = this.text[this.at];
    if (c === '.') {
      this.at++;
      return without([[10, 10]]);
    }
    return '|*+?{}^]'.includes(c) ? undefined : this.character();
  }
  private character(): Ranges | undefined {
    if (this.text[this.at] !== '\\') {
      const point = this.text.codePointAt(this.at)!;
      this.at += point > 0xffff ? 2 : 1;
      return point >= 0xd800 && point <= 0xdfff ? undefined : [[point, point]];
    }
    const c = this.text[this.at + 1] ?? '';
    this.at += 2;
    if (c === 'd') return digits;
    if (c === 'w') return wordCharacters;
    return /^[!-/:-@[-`{-~]$/.test(c) ? [[c.codePointAt(0)!, c.codePointAt(0)!]] : undefined;
  }
  private set(): Ranges | undefined {
    const negated = this.text[this.at + 1] === '^';
    this.at += negated ? 2 : 1;
    let found: Ranges = [];
    for (let first = true; first || this.text[this.at] !== ']'; first = false) {
      if (this.isAtEnd || this.text[this.at] === '[') return undefined;
      const from = this.character();
      if (!from) return undefined;
      if (this.text[this.at] !== '-' || this.text[this.at + 1] === ']') {
        found = union(found, from);
        continue;
      }
      this.at++;
      const to = this.isAtEnd || this.text[this.at] === '[' ? undefined : this.character();
      if (
        !to ||
        from.length > 1 ||
        to.length > 1 ||
        from[0][0] !== from[0][1] ||
        to[0][0] !== to[0][1] ||
        from[0][0] > to[0][0]
      )
        return undefined;
      found = union(found, [[from[0][0], to[0][0]]]);
    }
    this.at++;
    return negated ? without(found) : found;
  }
}
const digits: Ranges = [[48, 57]];
const wordCharacters: Ranges = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
];

const union = (a: Ranges, b: Ranges): Ranges => {
  const out: [number, number][] = [];
  for (const [from, to] of [...a, ...b].sort((x, y) => x[0] - y[0])) {
    const last = out.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else out.push([from, to]);
  }
  return out;
};
const without = (ranges: Ranges): Ranges => {
  const out: [number, number][] = [];
  let next = 0;
  for (const [from, to] of ranges) {
    if (from > next) out.push([next, from - 1]);
    next = to + 1;
  }
  return next <= pointMax ? [...out, [next, pointMax]] : out;
};
const overlap = (a: Ranges, b: Ranges): boolean =>
  a.some(([from, to]) => b.some(([start, end]) => start <= to && end >= from));

/** Whether repetitions end where they must; `behind`: what follows the items. */
const isLinear = (items: readonly Item[], behind: readonly Item[]): boolean =>
  items.every((item, k) => {
    const rest = [...items.slice(k + 1), ...behind];
    if (item.kind === 'group') return isLinear(item.items, rest);
    return item.kind === 'end' || !item.repeated || cannotFail(rest) || !overlap(item.set, firstOf(rest));
  });
/** Whether nothing that follows a repetition can fail; `behind`: what follows the items. */
const isSearched = (items: readonly Item[], behind: readonly Item[]): boolean =>
  items.every((item, k) => {
    const rest = [...items.slice(k + 1), ...behind];
    // An optional group that matched nothing has no part in a match here, and is empty there.
    if (item.kind === 'group') return (!item.optional || takesSome(item.items)) && isSearched(item.items, rest);
    return item.kind === 'end' || !item.repeated || cannotFail(rest);
  });
/** Whether a match has a character at least. */
const takesSome = (items: readonly Item[]): boolean =>
  items.some((i) => i.kind !== 'end' && !i.optional && (i.kind === 'one' || takesSome(i.items)));
const cannotFail = (items: readonly Item[]): boolean =>
  items.every((i) => i.kind !== 'end' && (i.optional || (i.kind === 'group' && cannotFail(i.items))));
/** What the first character of a match may be. */
const firstOf = (items: readonly Item[]): Ranges => {
  let found: Ranges = [];
  for (const item of items) {
    if (item.kind === 'end') return found;
    found = union(found, item.kind === 'one' ? item.set : firstOf(item.items));
    if (!item.optional && !(item.kind === 'group' && cannotFail(item.items))) return found;
  }
  return found;
};

const written = (item: Item): string => {
  if (item.kind === 'end') return '$';
  if (item.kind === 'group')
    return `(${item.captures ? '' : '?:'}${item.items.map(written).join('')})${item.optional ? '?' : ''}`;
  const point = (x: number): string => `\\u{${x.toString(16)}}`;
  return `[${item.set.map(([from, to]) => `${point(from)}-${point(to)}`).join('')}]${item.repeated ? (item.optional ? '*' : '+') : item.optional ? '?' : ''}`;
};
