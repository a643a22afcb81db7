/**
 * How records that both sides changed to different things are settled: as the request says of a record, by fields, all
 * in one way; else they are in conflict, and some of these are told.
 */
import assert from 'node:assert';
import { LakeError } from '../../errors.ts';
import type { RecordRule, TakenSide } from '../../lake/lake.types.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { sameData } from '../../vectors/compare.ts';
import { parseSupValues } from '../../vectors/sup/parse.ts';
import { supText } from '../../vectors/sup/print.ts';
import { types } from '../../vectors/type.ts';
import { type Value, arrayValue, nullValue, recordValue, underValue } from '../../vectors/value.ts';
import { type Vector, take, valueAt } from '../../vectors/vector.ts';
import { keysOf } from '../diff/changes.ts';
import type { Disputed, Judge, Settlement } from './rules.ts';

type Identity = readonly (readonly string[])[];

/** Which conflicts are told. */
export interface Page {
  readonly offset: number;
  readonly limit: number;
}
/** Bytes of conflicts that are told, about: the rest of a page is on the next one. */
const toldBytesMax = 4 << 20;

/** Settles disputes, and keeps account of those that it cannot settle. */
export class Settler implements Judge {
  private readonly rule: RecordRule;
  private readonly identity: Identity;
  private readonly page: Page;
  private readonly given = new Map<string, Given>();
  private readonly lines: string[] = [];
  private toldBytes = 0;
  /** Disputes that stay. */
  conflicts = 0;
  /** Disputes that were settled. */
  settled = 0;

  /** @throws settle-malformed */
  constructor(rule: RecordRule, identity: Identity, page: Page) {
    this.rule = rule;
    this.identity = identity;
    this.page = page;
    for (const value of parseSupValues(rule.settled ?? '')) {
      const given = givenOf(value);
      const key = this.keyText(vectorOf([given.key]));
      if (this.given.has(key))
        throw new LakeError('settle-malformed', { what: 'a key of its own', value: supText(value) });
      this.given.set(key, given);
    }
  }

  /** The conflicts of the page, as lines of SUP. */
  get told(): string {
    return this.lines.join('\n');
  }

  /** @throws settle-idle for a key that no dispute was about */
  checkUsed(): void {
    for (const { key, isUsed } of this.given.values())
      if (!isUsed) throw new LakeError('settle-idle', { key: supText(key) });
  }

  readonly settle = (disputed: Disputed): Settlement | undefined => {
    const settled = this.settlement(disputed);
    if (settled) this.settled++;
    return settled;
  };
  /** What is said of single records goes before fields. */
  get fieldsMerged(): ((count: number) => void) | undefined {
    if (!this.rule.fields || this.given.size > 0) return undefined;
    return (count) => {
      this.settled += count;
    };
  }
  private settlement(disputed: Disputed): Settlement | undefined {
    const { rows, ours, theirs, base } = disputed;
    const given = this.given.size > 0 ? this.given.get(this.keyText(rowsAt(rows, someOf(disputed)))) : undefined;
    if (given) {
      given.isUsed = true;
      if (given.take === undefined) return { value: given.value };
      return { rows: disputed[given.take] };
    }
    const merged = this.rule.fields ? mergedFields(rows, [base, ours, theirs]) : undefined;
    if (merged) return { value: merged };
    if (this.rule.resolve) return { rows: disputed[this.rule.resolve] };
    if (this.conflicts >= this.page.offset && this.lines.length < this.page.limit) this.tell(disputed);
    this.conflicts++;
    return undefined;
  }

  private keyText(rows: Vector): string {
    return supText(valueAt(keysOf(rows, this.identity), 0));
  }
  private tell(disputed: Disputed): void {
    if (this.toldBytes >= toldBytesMax) return;
    const { rows } = disputed;
    const side = (places: readonly number[]): Value => {
      const values = places.map((place) => valueAt(rows, place));
      return values.length === 0 ? nullValue : values.length === 1 ? values[0]! : arrayValue(values);
    };
    const text = supText(
      recordValue([
        { name: 'key', value: valueAt(keysOf(rowsAt(rows, someOf(disputed)), this.identity), 0) },
        { name: 'base', value: side(disputed.base) },
        { name: 'ours', value: side(disputed.ours) },
        { name: 'theirs', value: side(disputed.theirs) },
      ]),
    );
    this.toldBytes += text.length;
    this.lines.push(text);
  }
}
/** A row of the dispute: all have one identity. */
const someOf = ({ base, ours, theirs }: Disputed): number => [...base, ...ours, ...theirs][0]!;
const rowsAt = (rows: Vector, place: number): Vector => take(rows, Uint32Array.of(place));

/** What a request says of one record. */
interface Given {
  readonly key: Value;
  readonly take?: TakenSide;
  /** Absent with no `take`: the record goes. */
  readonly value?: Value;
  isUsed: boolean;
}
const takenSides: ReadonlySet<unknown> = new Set<TakenSide>(['base', 'ours', 'theirs']);
const givenOf = (value: Value): Given => {
  const fields = fieldsOf(value);
  const key = fields?.get('key');
  const chosen = fields?.get('take');
  const taken = fields?.get('value');
  const wrong = (what: string): LakeError => new LakeError('settle-malformed', { what, value: supText(value) });
  if (!fields || !key || !fieldsOf(key)) throw wrong('key');
  if ((chosen === undefined) === (taken === undefined)) throw wrong('take or value');
  if (taken) return { key, ...(taken.type !== types.null && { value: taken }), isUsed: false };
  const side = underValue(chosen!).data;
  if (!takenSides.has(side)) throw wrong('take');
  return { key, take: side as TakenSide, isUsed: false };
};

/** The fields that are there; undefined: it is no record. */
const fieldsOf = (value: Value): ReadonlyMap<string, Value> | undefined => {
  const { type, data } = underValue(value);
  if (type.kind !== 'record') return undefined;
  const items = data as Items;
  return new Map(
    type.fields.flatMap(({ name, type: own }, i) =>
      items[i] === undefined ? [] : [[name, { type: own, data: items[i] }] as const],
    ),
  );
};

/** The record with what either side did to its fields; undefined where both did something to one of them. */
const mergedFields = (rows: Vector, places: readonly (readonly number[])[]): Value | undefined => {
  if (places.some((side) => side.length !== 1)) return undefined;
  const values = places.map(([place]) => valueAt(rows, place!));
  if (values.some(({ type }) => type.kind !== 'record')) return undefined;
  if (values.every(({ type }) => type === values[0]!.type)) return mergedItems(values as [Value, Value, Value]);
  const [base, ours, theirs] = values.map((value) => fieldsOf(value)!) as [Fields, Fields, Fields];
  const merged = new Map(ours);
  for (const name of new Set([...base.keys(), ...theirs.keys()])) {
    const [before, own, other] = [base.get(name), ours.get(name), theirs.get(name)];
    if (isSame(other, before) || isSame(other, own)) continue;
    if (!isSame(own, before)) return undefined;
    const value = theirs.get(name);
    if (value) merged.set(name, value);
    else merged.delete(name);
  }
  return recordValue([...merged].map(([name, value]) => ({ name, value })));
};
/** The same of records of one type, as most are: a third of the work. */
const mergedItems = ([base, ours, theirs]: readonly [Value, Value, Value]): Value | undefined => {
  const { type } = ours;
  assert(type.kind === 'record');
  const [before, own, other] = [base, ours, theirs].map(({ data }) => data as Items) as [Items, Items, Items];
  const fields: { readonly name: string; readonly value: Value }[] = [];
  for (const [i, { name, type: inner }] of type.fields.entries()) {
    const [a, b, c] = [before[i], own[i], other[i]];
    const isKept = isSameItem(inner, c, a) || isSameItem(inner, c, b);
    if (!isKept && !isSameItem(inner, b, a)) return undefined;
    const data = isKept ? b : c;
    if (data !== undefined) fields.push({ name, value: { type: inner, data } });
  }
  return recordValue(fields);
};
/** Undefined: a field that is absent. */
type Items = readonly (Value['data'] | undefined)[];
const isSameItem = (type: Value['type'], a: Items[number], b: Items[number]): boolean =>
  a === undefined || b === undefined ? a === b : sameData(type, a, b);

type Fields = ReadonlyMap<string, Value>;
/** Tells values apart, with their types. */
const isSame = (a: Value | undefined, b: Value | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.type === b.type && sameData(a.type, a.data, b.data));
