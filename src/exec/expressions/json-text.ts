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
const space = /[ \t\n\r]*/y;
const text = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;

/** Reads one value from its start; `undefined` anywhere is what no JSON has. */
class Reader {
  private at = 0;
  private readonly text: string;
  constructor(source: string) {
    this.text = source;
  }

  whole(): Json | undefined {
    const value = this.value(0);
    this.match(space);
    return this.at === this.text.length ? value : undefined;
  }
  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }
  /** Takes a sign behind blanks. */
  private take(sign: string): boolean {
    this.match(space);
    const isHere = this.text[this.at] === sign;
    if (isHere) this.at++;
    return isHere;
  }
  private value(depth: number): Json | undefined {
    checkStopAt(this.at);
    if (depth > depthMax) return undefined;
    if (this.take('[')) return this.array(depth);
    if (this.take('{')) return this.object(depth);
    const quoted = this.match(text);
    if (quoted !== undefined) return JSON.parse(quoted) as string;
    const digits = this.match(number);
    if (digits !== undefined) return { digits };
    const constant = this.match(word);
    return constant === undefined ? undefined : constant === 'null' ? null : constant === 'true';
  }
  private array(depth: number): Json | undefined {
    const out: Json[] = [];
    if (this.take(']')) return out;
    do {
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      out.push(value);
    } while (this.take(','));
    return this.take(']') ? out : undefined;
  }
  private object(depth: number): Json | undefined {
    const out = new Map<string, Json>();
    if (this.take('}')) return out;
    do {
      this.match(space);
      const name = this.match(text);
      const value = name !== undefined && this.take(':') ? this.value(depth + 1) : undefined;
      if (value === undefined) return undefined;
      out.set(JSON.parse(name!) as string, value);
    } while (this.take(','));
    return this.take('}') ? out : undefined;
  }
}

/** The value of a text; undefined for what is no JSON, or is nested too deeply. */
export const parseJson = (source: string): Json | undefined => new Reader(source).whole();

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
