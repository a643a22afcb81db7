/** collect_map: the entries of all maps as one map; of equal keys the last one stays. */
import { checkStop } from '../../vectors/stop.ts';
import { type Value, encodeBody, mapValue, nullValue, underUnion } from '../../vectors/value.ts';
import { type MapVector, type Vector, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { eachPart } from './grouping/parts.ts';
import type { AggregateState } from './grouping/state.ts';
import { none } from './grouping/pair-table.ts';

type Entries = Map<string, readonly [Value, Value]>;

export class CollectMapState implements AggregateState {
  private readonly groups = new Map<number, Entries>();
  private size = 0;
  get bytes(): number {
    return this.size;
  }
  grow(): void {
    /* groups come as they are met */
  }
  update(ids: Uint32Array, argument: Vector): void {
    const parts: MapVector[] = [];
    const owners = new Uint32Array(argument.length);
    eachPart(argument, (part, rows) => {
      if (part.form !== 'map') return;
      parts.push(part);
      for (let i = 0; i < part.length; i++) owners[rows ? rows[i] : i] = parts.length;
    });
    // Maps of several types go in the order of the rows: the last entry stays.
    const next = new Uint32Array(parts.length);
    for (let row = 0; row < owners.length; row++) {
      const owner = owners[row];
      if (owner > 0) this.add(this.entriesOf(ids[row]), parts[owner - 1], next[owner - 1]++);
    }
  }
  private add(entries: Entries, maps: MapVector, i: number): void {
    for (let at = maps.offsets[i]; at < maps.offsets[i + 1]; at++)
      this.put(entries, underUnion(valueAt(maps.keys, at)), underUnion(valueAt(maps.values, at)));
  }
  private entriesOf(g: number): Entries {
    let entries = this.groups.get(g);
    if (!entries) this.groups.set(g, (entries = new Map<string, readonly [Value, Value]>()));
    return entries;
  }
  private put(entries: Entries, key: Value, value: Value): void {
    checkStop();
    const code = `${key.type.id}:${Buffer.from(encodeBody(key.type, key.data)).toString('latin1')}`;
    if (!entries.has(code)) this.size += 200 + code.length;
    entries.set(code, [key, value]);
  }
  merge(other: AggregateState, map: Uint32Array): void {
    for (const [g, entries] of (other as CollectMapState).groups) {
      if (map[g] === none) continue;
      const own = this.entriesOf(map[g]);
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
