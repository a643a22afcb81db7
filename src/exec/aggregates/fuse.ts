/**
 * fuse: the fusion of the types of all values, missing ones left out; a value in a union has the type of its member.
 */
import type { Type } from '../../vectors/type.ts';
import { type Vector, take } from '../../vectors/vector.ts';
import { fuseTypes, typesOf } from '../../vectors/fuse.ts';
import { withoutUnions } from '../expressions/lift.ts';
import { kinds, rowsWithout } from '../operators/rows/kinds.ts';
import { pick } from './grouping/parts.ts';
import { type AggregateState, widened, words } from './grouping/state.ts';
import { none } from './grouping/pair-table.ts';

export class FuseState implements AggregateState {
  /** The fused type of a group by its place in `table`; 0: none yet. */
  private codes = words(16);
  private readonly table: (Type | undefined)[] = [undefined];
  private readonly codeOf = new Map<Type, number>();
  /** Codes of fusions met before, by the two codes. */
  private readonly fused = new Map<number, number>();
  get bytes(): number {
    return this.codes.byteLength;
  }
  grow(groups: number): void {
    this.codes = widened(this.codes, groups, words);
  }
  update(ids: Uint32Array, argument: Vector): void {
    const rows = rowsWithout(argument, kinds.missing);
    const own = pick(ids, rows);
    const types = typesOf(withoutUnions(rows ? take(argument, rows) : argument));
    const known = types.table.map((t) => this.code(t));
    for (let i = 0; i < own.length; i++) this.add(own[i], known[types.codes ? types.codes[i] : 0]);
  }
  private code(t: Type): number {
    let code = this.codeOf.get(t);
    if (code === undefined) this.codeOf.set(t, (code = this.table.push(t) - 1));
    return code;
  }
  private add(g: number, code: number): void {
    const now = this.codes[g];
    if (now === code) return;
    if (now === 0) {
      this.codes[g] = code;
      return;
    }
    const key = now * 0x100000 + code;
    let fused = this.fused.get(key);
    if (fused === undefined) this.fused.set(key, (fused = this.code(fuseTypes(this.table[now]!, this.table[code]!))));
    this.codes[g] = fused;
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = other as FuseState;
    for (let g = 0; g < groups; g++) {
      const type = from.table[from.codes[g]];
      if (map[g] !== none && type) this.add(map[g], this.code(type));
    }
  }
  result(groups: number): Vector {
    const tags = new Uint32Array(groups);
    const slots = new Uint32Array(groups);
    const codes = new Uint32Array(groups);
    let empty = 0;
    for (let g = 0; g < groups; g++) {
      slots[g] = g;
      if (this.codes[g] === 0) {
        tags[g] = 1;
        empty++;
      } else codes[g] = this.codes[g] - 1;
    }
    if (empty === groups) return { form: 'null', length: groups };
    const out: Vector = { form: 'type', length: groups, codes, table: this.table.slice(1) as Type[] };
    return empty === 0
      ? out
      : { form: 'dynamic', length: groups, tags, slots, parts: [out, { form: 'null', length: groups }] };
  }
}
