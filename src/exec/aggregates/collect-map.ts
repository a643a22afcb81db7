/** collect_map: the entries of all maps as one map; of equal keys the last one stays. */
import { type Value, encodeBody, mapValue, nullValue, underValue } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { eachPart, pick } from './parts.ts';
import type { AggregateState } from './state.ts';
import { none } from './tables.ts';

type Entries = Map<string, readonly [Value, Value]>;

export class CollectMapState implements AggregateState {
  private readonly groups = new Map<number, Entries>();
  private size = 0;
  get bytes(): number { return this.size; }
  grow(): void { /* groups come as they are met */ }
  update(ids: Uint32Array, argument: Vector): void {
    eachPart(argument, (part, rows) => {
      if (part.form !== 'map') return;
      const own = pick(ids, rows);
      for (let i = 0; i < part.length; i++) {
        const entries = this.entriesOf(own[i]!);
        for (let at = part.offsets[i]!; at < part.offsets[i + 1]!; at++) this.put(entries, underValue(valueAt(part.keys, at)), underValue(valueAt(part.values, at)));
      }
    });
  }
  private entriesOf(g: number): Entries {
    let entries = this.groups.get(g);
    if (!entries) this.groups.set(g, (entries = new Map<string, readonly [Value, Value]>()));
    return entries;
  }
  private put(entries: Entries, key: Value, value: Value): void {
    const code = `${key.type.id}:${Buffer.from(encodeBody(key.type, key.data)).toString('latin1')}`;
    if (!entries.has(code)) this.size += 200 + code.length;
    entries.set(code, [key, value]);
  }
  merge(other: AggregateState, map: Uint32Array): void {
    for (const [g, entries] of (other as CollectMapState).groups) {
      if (map[g] === none) continue;
      const own = this.entriesOf(map[g]!);
      for (const [key, value] of entries.values()) this.put(own, key, value);
    }
  }
  result(groups: number): Vector {
    const out = new Builder();
    for (let g = 0; g < groups; g++) {
      const entries = this.groups.get(g);
      out.append(entries ? mapValue([...entries.values()]) : nullValue);
    }
    return out.finish();
  }
}
