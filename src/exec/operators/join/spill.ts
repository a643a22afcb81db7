/**
 * Joins of more than fits into memory. Both sides are spilled in partitions by the hash of their keys, and partitions
 * are joined one by one, partitioned again where one is too large. Where that leads nowhere, since the rows share a key
 * or there are no keys at all, the right side is taken a piece at a time, and all of the left side passes each piece;
 * so is it where a key of one side has texts and the other has none, since a text is read as what the other side is and
 * no hash tells as what.
 *
 * Rows without a key come out, or are dropped, at once.
 */
import { type Vector, take } from '../../../vectors/vector.ts';
import { concatFreeing } from '../../../vectors/concat.ts';
import { Uint8List } from '../../../vectors/lists.ts';
import { withoutUnions } from '../../expressions/lift.ts';
import { type Item, type Stream, isBatch, wait } from '../../operator.ts';
import { eachPart, everyPart } from '../../aggregates/grouping/parts.ts';
import type { SpillRun } from '../../source.ts';
import { JoinIndex, type Keys, heldBytes } from './index.ts';
import type { RightSide } from './null-aware.ts';
import {
  type JoinParts,
  keepsLeft,
  keepsRight,
  keysOf,
  leftAlone,
  probe,
  rightAlone,
  unmatchedRight,
} from './probe.ts';
import { Partitions, type Rereadable, levelsMax, partitionsOf } from '../rows/partitions.ts';
import { rowsOf } from '../rows/records.ts';
import { pulled } from '../../pulled.ts';

/** What a piece of the right side may take however small the budget. */
const pieceBytesMin = 1 << 20;

/** Both sides of a join, spilled. */
export class Aside {
  private readonly parts: JoinParts;
  private readonly level: number;
  private readonly lefts: Partitions;
  private readonly rights: Partitions;
  private isRightDone = false;
  private readonly leftClasses: KeyClasses;
  private readonly rightClasses: KeyClasses;
  private readonly rightSide: RightSide | undefined;
  /** Left rows without a key, of which it is not known yet whether there is a right row. */
  private undecided: SpillRun | undefined;
  /** `rightSide`: of a null-aware anti join that is not of partitions of another. */
  constructor(parts: JoinParts, level: number, rightSide?: RightSide) {
    this.parts = parts;
    this.level = level;
    this.rightSide = rightSide;
    this.lefts = new Partitions(parts.build);
    this.rights = new Partitions(parts.build);
    this.leftClasses = new KeyClasses(parts.op.loose);
    this.rightClasses = new KeyClasses(parts.op.loose);
  }

  *right(rows: Vector): Generator<Item> {
    const { op, rightKeys } = this.parts;
    const keys = yield* keysOf(rows, rightKeys, op);
    const alone = keepsRight(op) ? rowsWhere(keys.out, (out) => out === 2) : noRows;
    if (alone.length > 0) yield rightAlone(op, take(rows, alone));
    this.rightClasses.see(keys.keys);
    const own = this.taking(rows, keys);
    yield* this.rights.add(own.rows, own.parts);
  }
  /** All of the right side is there. */
  *rightDone(): Generator<Item> {
    yield* this.rights.flush();
    this.isRightDone = true;
  }
  *left(batch: Vector): Generator<Item> {
    const { op, leftKeys } = this.parts;
    const rows = withoutUnions(batch);
    const keys = yield* keysOf(rows, leftKeys, op);
    const { length } = rows;
    this.leftClasses.see(keys.keys);
    const parts = this.partsOf(keys.keys, length);
    const { out } = keys;
    const hasAllRights = this.isRightDone && !this.isUnlike;
    const alone = new Uint32Array(length);
    const paired = new Uint32Array(length);
    let a = 0;
    let p = 0;
    for (let i = 0; i < length; i++) {
      if (out[i] === 1) continue;
      if (out[i] === 0 && (!hasAllRights || this.rights.rows[parts[i]] > 0)) paired[p++] = i;
      else alone[a++] = i;
    }
    if (a > 0 && keepsLeft(op)) yield* this.alone(rows, alone.slice(0, a), out);
    if (p === length) yield* this.lefts.add(rows, parts);
    else if (p > 0)
      yield* this.lefts.add(
        take(rows, paired.slice(0, p)),
        Uint8Array.from(paired.subarray(0, p), (i) => parts[i]),
      );
  }

  /** Left rows that have no partner; those without a key have to wait where nulls decide. */
  private *alone(rows: Vector, index: Uint32Array, out: Uint8Array): Generator<Item> {
    const { parts, rightSide } = this;
    if (rightSide && !this.isRightDone) {
      this.undecided ??= parts.build.context.host.spill!.open();
      return yield* wait(this.undecided.append(take(rows, index)));
    }
    const own = rightSide?.hasRows ? index.filter((i) => out[i] === 0) : index;
    if (own.length > 0) yield leftAlone(parts.op, take(rows, own));
  }

  /** The joined rows of all partitions; `join` joins two that are likely to fit. */
  *joined(join: (left: Stream, right: Stream) => Stream): Generator<Item> {
    const {
      parts: { op, build },
      lefts,
      rights,
    } = this;
    const read = (run: Rereadable): Stream => pulled(() => run.read(), build.context.signal);
    yield* lefts.flush();
    const { undecided } = this;
    if (undecided && !this.rightSide?.hasRows) yield* each(read(undecided), (rows) => leftAlone(op, rows));
    if (this.isUnlike) return yield* inPieces(lefts.whole(), rights.whole(), this.parts);
    for (const p of new Set([...lefts.each(), ...rights.each()])) {
      const left = lefts.run(p);
      const right = rights.run(p);
      if (left && right) yield* this.isSplit(p) ? join(read(left), read(right)) : inPieces(left, right, this.parts);
      else if (left && keepsLeft(op)) yield* each(read(left), (rows) => leftAlone(op, rows));
      else if (right && keepsRight(op)) yield* each(read(right), (rows) => rightAlone(op, rows));
      void left?.close();
      void right?.close();
    }
  }
  close(): void {
    this.lefts.close();
    this.rights.close();
    void this.undecided?.close();
  }

  /** Whether keys match that are no equal values. */
  private get isUnlike(): boolean {
    return this.leftClasses.areUnlike(this.rightClasses);
  }
  /** Whether another level could split the partition. */
  private isSplit(p: number): boolean {
    const {
      parts: { op },
      level,
      rights,
    } = this;
    return op.equal.length > 0 && level + 1 < levelsMax && (level === 0 || rights.rows[p] < rights.total);
  }
  private taking(rows: Vector, { keys, out }: Keys): { readonly rows: Vector; readonly parts: Uint8Array } {
    const parts = this.partsOf(keys, rows.length);
    const index = rowsWhere(out, (code) => code === 0);
    return index.length === rows.length
      ? { rows, parts }
      : { rows: rowsOf(rows, index), parts: Uint8Array.from(index, (i) => parts[i]) };
  }
  private partsOf(keys: readonly Vector[], length: number): Uint8Array {
    return partitionsOf(keys, length, this.level, this.parts.op.loose);
  }
}

/** What the values of keys are as comparisons see them: texts, bytes, bools, or anything else. */
class KeyClasses {
  /** Of each key; absent where nothing is told apart. */
  private readonly seen: Set<string>[] | undefined;
  constructor(isLoose: boolean | undefined) {
    this.seen = isLoose ? [] : undefined;
  }
  see(keys: readonly Vector[]): void {
    const { seen } = this;
    if (!seen) return;
    keys.forEach((key, k) => {
      const own = (seen[k] ??= new Set());
      if (own.size === 1 && everyPart(key, (part) => own.has(classOf(part)))) return;
      eachPart(key, (part) => {
        if (part.form !== 'null' && part.form !== 'error') own.add(classOf(part));
      });
    });
  }
  /** Whether a key has values of several classes on the two sides, which are read as those of one another. */
  areUnlike(built: KeyClasses): boolean {
    return this.seen?.some((own, k) => new Set([...own, ...(built.seen?.[k] ?? [])]).size > 1) ?? false;
  }
}
const classOf = (part: Vector): string =>
  part.form === 'bytes' ? part.type.name : part.form === 'bool' ? 'bool' : 'other';

const noRows = new Uint32Array(0);
const rowsWhere = (out: Uint8Array, wanted: (code: number) => boolean): Uint32Array => {
  const rows = new Uint32Array(out.length);
  let n = 0;
  for (let i = 0; i < out.length; i++) if (wanted(out[i])) rows[n++] = i;
  return rows.subarray(0, n);
};
function* each(rows: Stream, made: (rows: Vector) => Vector): Generator<Item> {
  for (const item of rows) yield isBatch(item) ? made(item) : item;
}

/**
 * Left rows pass each piece of the right side that fits into memory; which of them had a match is noted, a byte a row.
 */
function* inPieces(left: Rereadable, right: Rereadable, parts: JoinParts): Generator<Item> {
  const {
    op,
    build: {
      memory,
      context: { signal },
    },
  } = parts;
  const reader = pulled(() => right.read(), signal);
  const matched = new Uint8List();
  let held = 0;
  let next = yield* following(reader);
  const hold = (bytes: number): void => {
    held += bytes;
    memory.add(bytes);
  };
  try {
    while (next) {
      const rows: Vector[] = [];
      while (next && (rows.length === 0 || !memory.isOverWith(held) || held < pieceBytesMin)) {
        rows.push(next);
        hold(heldBytes(next));
        next = yield* following(reader);
      }
      const all = concatFreeing(rows);
      const index = new JoinIndex(all, yield* keysOf(all, parts.rightKeys, op));
      const isLast = next === undefined;
      let at = 0;
      for (const item of pulled(() => left.read(), signal)) {
        if (!isBatch(item)) {
          yield item;
          continue;
        }
        const end = at + item.length;
        if (matched.length < end) {
          memory.add(end - matched.length);
          matched.reserve(end - matched.length);
          matched.length = end;
        }
        yield* probe(item, index, parts, { matched: matched.array.subarray(at, end), isLast });
        at = end;
      }
      if (keepsRight(op)) yield* unmatchedRight(index, parts);
      hold(-held);
    }
  } finally {
    reader.return(undefined);
    memory.add(-held - matched.length);
  }
}
/** The next batch of a stream. */
function* following(stream: Generator<Item>): Generator<Item, Vector | undefined> {
  for (let next = stream.next(); !next.done; next = stream.next()) {
    if (isBatch(next.value)) return next.value;
    yield next.value;
  }
  return undefined;
}
