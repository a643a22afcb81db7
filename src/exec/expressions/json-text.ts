/**
 * JSON as text: read, taken apart and written again. Numbers keep the digits that they are written with.
 *
 * Invariants:
 * - Text that JSON's grammar does not allow is no JSON, whatever else could be made of it.
 * - What has no form of its own in JSON (times, bytes, addresses) is the string that a cast to text gives.
 */
import { exactOfText, isLongDecimal, knownValue } from '../../vectors/decimal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { isFloat, isInteger, types } from '../../vectors/type.ts';
import { type Data, type Value, stringData } from '../../vectors/value.ts';
import { sqlFloatText, sqlText } from './sql/texts.ts';

/** A number by its digits. */
export interface JsonNumber {
  readonly digits: string;
}
/** A value of JSON; of names that come twice the last one counts. */
export type Json = null | boolean | string | JsonNumber | readonly Json[] | ReadonlyMap<string, Json>;

/** Levels of arrays and objects inside of one another, at most. */
const depthMax = 1000;
const text = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;
/** Signs by their codes. */
const sign = { quote: 0x22, comma: 0x2c, colon: 0x3a, escape: 0x5c, open: 0x5b, close: 0x5d, begin: 0x7b, end: 0x7d };
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/**
 * Reads one value from its start; `undefined` anywhere is what no JSON has. Signs, blanks and texts without escapes are
 * looked at by their codes: beside an expression for each of them 0.3 of the time.
 */
class Reader {
  private at = 0;
  private readonly text: string;
  private readonly names: readonly string[];
  /** `names`: the path of all that is kept of objects within objects. */
  constructor(source: string, names: readonly string[]) {
    this.text = source;
    this.names = names;
  }

  whole(): Json | undefined {
    const value = this.value(0, 0);
    this.next();
    return this.at === this.text.length ? value : undefined;
  }
  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }
  /** The code of the sign behind blanks, which are passed over; NaN at the end. */
  private next(): number {
    let code = this.text.charCodeAt(this.at);
    while (isSpace(code)) code = this.text.charCodeAt(++this.at);
    return code;
  }
  /** Takes a sign behind blanks. */
  private take(code: number): boolean {
    const isHere = this.next() === code;
    if (isHere) this.at++;
    return isHere;
  }
  /** `step`: how many names of the path lead here, all of them behind its end; below 0 nothing is kept. */
  private value(depth: number, step: number): Json | undefined {
    checkStopAt(this.at);
    if (depth > depthMax) return undefined;
    const code = this.next();
    if (code === sign.quote) return this.quoted(step >= 0);
    if (code === sign.open || code === sign.begin) {
      this.at++;
      return code === sign.open ? this.array(depth, step) : this.object(depth, step);
    }
    const digits = this.match(number);
    if (digits !== undefined) return { digits };
    const constant = this.match(word);
    return constant === undefined ? undefined : constant === 'null' ? null : constant === 'true';
  }
  /** The text whose quote is next; an empty one unless it is kept. */
  private quoted(isKept: boolean): string | undefined {
    const start = this.at + 1;
    for (let at = start; ; at++) {
      const code = this.text.charCodeAt(at);
      if (code === sign.quote) {
        this.at = at + 1;
        return isKept ? this.text.slice(start, at) : '';
      }
      // A sign that the expression decides about, or the end.
      if (code === sign.escape || !(code >= 0x20)) break;
    }
    const found = this.match(text);
    return found === undefined ? undefined : (JSON.parse(found) as string);
  }
  private array(depth: number, step: number): Json | undefined {
    const out: Json[] = [];
    if (this.take(sign.close)) return out;
    const inner = step < 0 ? step : this.names.length;
    do {
      const value = this.value(depth + 1, inner);
      if (value === undefined) return undefined;
      if (step >= 0) out.push(value);
    } while (this.take(sign.comma));
    return this.take(sign.close) ? out : undefined;
  }
  private object(depth: number, step: number): Json | undefined {
    const out = step < 0 ? nothing : new Map<string, Json>();
    if (this.take(sign.end)) return out;
    const isWhole = step >= this.names.length;
    do {
      const name = this.next() === sign.quote ? this.quoted(step >= 0) : undefined;
      if (name === undefined || !this.take(sign.colon)) return undefined;
      const isKept = step >= 0 && (isWhole || name === this.names[step]);
      const inner = isWhole ? step : step + 1;
      const value = this.value(depth + 1, isKept ? inner : -1);
      if (value === undefined) return undefined;
      if (isKept) out.set(name, value);
    } while (this.take(sign.comma));
    return this.take(sign.end) ? out : undefined;
  }
}
const nothing = new Map<string, Json>();

/**
 * The value of a text; undefined for what is no JSON, or is nested too deeply. With a path of names, objects on it have
 * no more than the next name, which takes 0.6 of the time.
 */
export const parseJson = (source: string, names: readonly string[] = []): Json | undefined =>
  new Reader(source, names).whole();

export const isJsonArray = (v: Json): v is readonly Json[] => Array.isArray(v);
export const isJsonObject = (v: Json): v is ReadonlyMap<string, Json> => v instanceof Map;
/** The shortest text of a value. */
export const jsonText = (v: Json): string => {
  if (isJsonArray(v)) return `[${v.map(jsonText).join(',')}]`;
  if (isJsonObject(v)) return `{${[...v].map(([name, x]) => `${JSON.stringify(name)}:${jsonText(x)}`).join(',')}}`;
  return typeof v === 'object' && v !== null ? v.digits : JSON.stringify(v);
};

/** A value of the data model as one of JSON. */
export const jsonOf = (value: Value): Json => {
  const { type, data } = knownValue(value);
  if (isLongDecimal(type)) return exactOfText(stringData(data)) ? { digits: stringData(data) } : stringData(data);
  if (data === null) return null;
  if (type.kind === 'array' || type.kind === 'set')
    return (data as readonly Data[]).map((x) => jsonOf({ type: type.element, data: x }));
  if (type.kind === 'map')
    return new Map(
      (data as readonly (readonly [Data, Data])[]).map(([k, x]) => [
        sqlText({ type: type.key, data: k }),
        jsonOf({ type: type.value, data: x }),
      ]),
    );
  if (type.kind === 'record') {
    const fields = data as readonly (Data | undefined)[];
    return new Map(
      type.fields.flatMap((f, k) =>
        fields[k] === undefined ? [] : [[f.name, jsonOf({ type: f.type, data: fields[k] })] as const],
      ),
    );
  }
  if (type === types.string || type === types.bool) return data as string | boolean;
  if (isFloat(type))
    return Number.isFinite(data) ? { digits: sqlFloatText(data as number, type === types.float32 ? 32 : 64) } : null;
  return isInteger(type) && type !== types.time && type !== types.duration ? { digits: String(data) } : sqlText(value);
};
