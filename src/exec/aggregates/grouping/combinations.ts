/**
 * Codes of combinations of the codes of two columns or more: 0 for the first met, 1 for the next.
 *
 * The codes of a row's columns are packed into the two words of one pair, each in as many bits as its column needs and
 * some more. A pair of a pair for each further column would be a table of its own for each of them: of 1,000,000 groups
 * by three columns that took 1.9 times as long, and twice the memory.
 *
 * Invariants:
 * - Each code of a column that is dense is in a combination, and they come in the order in which rows meet them, as
 *   those of `ColumnCodes` do.
 * - A code of a column has fewer than all of its bits set, so that no word is `none`.
 * - When a column has outgrown its bits all combinations are packed again, in the order of their codes: these stay what
 *   they are.
 * - What does not fit into two words is combined before: the first columns have a table of their own, whose codes are
 *   one word.
 */
import { range } from '../../../vectors/vector.ts';
import { PairTable, none } from './pair-table.ts';
import { Room } from './tables.ts';

/** Where a column's code is: in which of the two words, from which bit on. */
interface Place {
  readonly word: 0 | 1;
  readonly shift: number;
  readonly bits: number;
}
/** The places of the columns behind the first `before` ones; these, if there are any, are word 0. */
interface Layout {
  readonly before: number;
  readonly places: readonly Place[];
}

const wordBits = 32;
const bitsOf = (size: number): number => (size <= 1 ? 0 : wordBits - Math.clz32(size - 1));
/** Bits in which the codes of so many values have one that is not set. */
const roomyBits = (size: number): number => Math.max(1, bitsOf(size + 1));
/**
 * Of many columns some grow at any time: each has so many bits more at least, lest all combinations are packed again
 * again and again.
 */
const growBits = 2;
/** In the one word that is left no more columns have room: of 1,000 columns the first ones are not tried one by one. */
const behindMax = Math.floor(wordBits / (roomyBits(1) + growBits));
const maskOf = (bits: number): number => (bits === wordBits ? none : (1 << bits) - 1);

/** The places of columns of these sizes, of which the first `before` have none. */
const layoutOf = (sizes: readonly number[], before = 0): Layout => {
  // Each column takes one bit at least.
  if (before === 0 && sizes.length > 2 * wordBits) return layoutOf(sizes, sizes.length - behindMax);
  const bits = sizes.slice(before).map((size) => Math.min(wordBits, roomyBits(size) + (before === 0 ? 0 : growBits)));
  const free = before === 0 ? [wordBits, wordBits] : [0, wordBits];
  const members: number[][] = [[], []];
  const largestFirst = bits.map((_, k) => k).sort((x, y) => bits[y] - bits[x]);
  for (const k of largestFirst) {
    const word = free[0] >= free[1] ? 0 : 1;
    if (free[word] < bits[k]) return layoutOf(sizes, before === 0 ? Math.max(2, sizes.length - behindMax) : before + 1);
    free[word] -= bits[k];
    members[word].push(k);
  }
  const places: Place[] = [];
  for (const word of [0, 1] as const) {
    // Room to grow, for each of them alike.
    const spare = Math.floor(free[word] / members[word].length);
    let shift = 0;
    for (const k of members[word]) {
      places[k] = { word, shift, bits: bits[k] + spare };
      shift += bits[k] + spare;
    }
  }
  return { before, places };
};

/**
 * Combinations of few small codes have a place of their own in a table of at most 256 KiB, made for batches that are
 * not tiny.
 */
const gridBitsMax = 16;
const gridRowsMin = 256;

/**
 * out[i] = grid[the packed code of a row's first columns, and above it that of the last]; whether all of these are
 * known.
 */
const lookUpPairs = (grid: Uint32Array, a: Uint32Array, b: Uint32Array, shift: number, out: Uint32Array): boolean => {
  let seen = 0;
  for (let i = 0; i < out.length; i++) {
    const code = grid[a[i] | (b[i] << shift)];
    out[i] = code;
    seen |= code;
  }
  return seen >= 0;
};
const pack = (out: Uint32Array, codes: Uint32Array, shift: number, isFirst: boolean): void => {
  if (isFirst) for (let i = 0; i < out.length; i++) out[i] = codes[i] << shift;
  else for (let i = 0; i < out.length; i++) out[i] |= codes[i] << shift;
};

/** What `codes` is asked for: the codes of each column, how many that column has, and where the answer goes. */
interface Combining {
  readonly sizes: readonly number[];
  readonly insert: boolean;
  readonly out: Uint32Array;
}

export class CombinationTable {
  private readonly columns: number;
  private pairs = new PairTable();
  private layout: Layout;
  /** Made when it is needed: of thousands of columns hundreds of tables lie behind each other, and each may be made anew. */
  private madeBefore: CombinationTable | undefined;
  private grid = new Uint32Array(0);
  /** The bits of each column in the grid. */
  private gridBits: readonly number[] = [];
  /**
   * As long as no column but one has more than one code, its codes are those of the combinations, and nothing is noted:
   * 1,000,000 rows by a constant and an address take 0.7 of the time.
   */
  private alone: { readonly column: number; readonly size: number } | undefined = { column: 0, size: 0 };
  private readonly rooms = [new Room(), new Room(), new Room()] as const;
  /** `columns`: at least two. `isDense`: their codes have no gaps. */
  constructor(columns: number, isDense = true) {
    if (!isDense) this.alone = undefined;
    this.columns = columns;
    this.layout = layoutOf(new Array<number>(columns).fill(1));
  }
  get size(): number {
    return this.alone?.size ?? this.pairs.size;
  }
  get bytes(): number {
    return this.pairs.bytes + this.grid.byteLength + (this.madeBefore?.bytes ?? 0);
  }

  /** All codes of column k are below `sizes[k]`; or `none` unless `insert`, which gives `none`. */
  codes(columns: readonly Uint32Array[], { sizes, insert, out }: Combining): Uint32Array {
    const alone = this.codesOfOne(columns, { sizes, insert, out });
    if (alone) return alone;
    if (!insert || out.length < gridRowsMin || !this.spans(sizes)) return this.hashed(columns, { sizes, insert, out });
    const { grid, gridBits } = this;
    const last = columns.length - 1;
    let lower = columns[0];
    let shift = gridBits[0];
    if (last > 1) {
      lower = this.rooms[2].of(out.length);
      shift = 0;
      for (let k = 0; k < last; shift += gridBits[k++]) pack(lower, columns[k], shift, k === 0);
    }
    if (lookUpPairs(grid, lower, columns[last], shift, out)) return out;
    this.meet(columns, { lower, shift }, { sizes, insert, out });
    return out;
  }
  /** The answer where the codes of one column are those of the combinations. */
  private codesOfOne(columns: readonly Uint32Array[], { sizes, insert, out }: Combining): Uint32Array | undefined {
    if (!this.alone) return undefined;
    const varying = sizes.flatMap((size, k) => (size > 1 ? [k] : []));
    const column = varying[0] ?? this.alone.column;
    if (varying.length > 1) {
      this.noteOnes(sizes);
      return undefined;
    }
    if (insert) {
      this.alone = { column, size: sizes[column] };
      return columns[column];
    }
    out.set(columns[column]);
    for (const codes of columns) spread(out, codes);
    return out;
  }
  /** A second column has several codes: from here on combinations are looked up. */
  private noteOnes(sizes: readonly number[]): void {
    const codes = this.columnCodes();
    const length = this.size;
    this.alone = undefined;
    if (length > 0) this.hashed(codes, { sizes, insert: true, out: new Uint32Array(length) });
  }
  /** Gives codes to the rows of which the grid had none. */
  private meet(
    columns: readonly Uint32Array[],
    { lower, shift }: { readonly lower: Uint32Array; readonly shift: number },
    { sizes, insert, out }: Combining,
  ): void {
    const { grid } = this;
    const upper = columns.at(-1)!;
    const rows: number[] = [];
    for (let i = 0; i < out.length; i++) {
      if (out[i] !== none) continue;
      const at = lower[i] | (upper[i] << shift);
      // Marked until it is known, so that each comes once.
      if (grid[at] !== none) continue;
      grid[at] = 0;
      rows.push(i);
    }
    const codes = this.hashed(
      columns.map((c) => Uint32Array.from(rows, (i) => c[i])),
      { sizes, insert, out: new Uint32Array(rows.length) },
    );
    rows.forEach((i, k) => {
      grid[lower[i] | (upper[i] << shift)] = codes[k];
    });
    lookUpPairs(grid, lower, upper, shift, out);
  }
  /** Whether the grid has a place for each combination; makes it wider for that. */
  private spans(sizes: readonly number[]): boolean {
    if (this.gridBits.length > 0 && sizes.every((size, k) => size <= 1 << this.gridBits[k])) return true;
    let spare = gridBitsMax;
    const bits = sizes.map((size, k) => Math.max(bitsOf(size), this.gridBits[k] ?? 0));
    for (const n of bits) spare -= n;
    if (spare < 0) return false;
    // Room to grow, as each time the grid is filled again.
    for (let k = 0; k < bits.length && spare > 0 && k < 2; k++, spare--) if (sizes[k] > 1) bits[k]++;
    const codes = this.columnCodes();
    const grid = new Uint32Array(1 << bits.reduce((sum, n) => sum + n, 0)).fill(none);
    for (let code = 0; code < this.size; code++) {
      let at = 0;
      let shift = 0;
      for (let k = 0; k < bits.length; shift += bits[k++]) at |= codes[k][code] << shift;
      grid[at] = code;
    }
    this.grid = grid;
    this.gridBits = bits;
    return true;
  }

  private hashed(columns: readonly Uint32Array[], { sizes, insert, out }: Combining): Uint32Array {
    if (insert) this.fit(sizes);
    const first = this.word(0, columns, sizes, insert, out.length);
    const second = this.word(1, columns, sizes, insert, out.length);
    return this.pairs.codes(first, second, out.length, insert, out);
  }
  /** One of the two words of each row. */
  private word(
    word: 0 | 1,
    columns: readonly Uint32Array[],
    sizes: readonly number[],
    insert: boolean,
    length: number,
  ): Uint32Array {
    const {
      layout: { before, places },
    } = this;
    const out = this.rooms[word].of(length);
    const own = places.flatMap((p, k) => (p.word === word ? [k] : []));
    if (word === 0 && this.before)
      return this.before.codes(columns.slice(0, before), { sizes: sizes.slice(0, before), insert, out });
    if (own.length === 1 && places[own[0]].shift === 0) return columns[before + own[0]];
    own.forEach((k, n) => {
      pack(out, columns[before + k], places[k].shift, n === 0);
    });
    if (own.length === 0) out.fill(0);
    if (!insert) for (const k of own) spread(out, columns[before + k], maskOf(places[k].bits));
    return out;
  }
  /** Makes a layout for columns of these sizes, if the one that is there has become too narrow. */
  private fit(sizes: readonly number[]): void {
    const {
      layout: { before, places },
    } = this;
    if (places.every(({ bits }, k) => sizes[before + k] <= maskOf(bits))) return;
    const codes = this.columnCodes();
    const length = this.size;
    this.layout = layoutOf(sizes);
    this.madeBefore = undefined;
    this.pairs = new PairTable(length);
    if (length > 0) this.hashed(codes, { sizes, insert: true, out: new Uint32Array(length) });
  }
  private get before(): CombinationTable | undefined {
    const { before } = this.layout;
    return before > 0 ? (this.madeBefore ??= new CombinationTable(before)) : undefined;
  }

  /** The codes that these combinations are of, of each column; absent: of all of them. */
  columnCodes(combinations?: Uint32Array): Uint32Array[] {
    if (this.alone) {
      const own = combinations ?? range(0, this.size);
      const { column } = this.alone;
      return Array.from({ length: this.columns }, (_, k) => (k === column ? own : new Uint32Array(own.length)));
    }
    const { places } = this.layout;
    const { first, second } = this.pairs.words();
    const words = [first, second].map((w) => (combinations ? combinations.map((c) => w[c]) : w));
    const own = places.map(({ word, shift, bits }) => words[word].map((w) => (w >>> shift) & maskOf(bits)));
    return this.before ? [...this.before.columnCodes(words[0]), ...own] : own;
  }
}

/** Rows that have no code, or one that is in no combination so far, have no combination. */
const spread = (out: Uint32Array, codes: Uint32Array, mask = none): void => {
  for (let i = 0; i < out.length; i++) if (codes[i] >= mask) out[i] = none;
};
