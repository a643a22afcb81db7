/** and, or: of bools; everything else is left out. */
import { type Vector } from '../../vectors/vector.ts';
import { type AggregateState, bytes, widened } from './grouping/state.ts';
import { eachPart, pick } from './grouping/parts.ts';
import { none } from './grouping/pair-table.ts';

export class LogicState implements AggregateState {
  /** 0: nothing yet, 1: the value that others cannot change back from, 2: the other one. */
  private states = bytes(16);
  private readonly deciding: 0 | 1;
  constructor(which: 'and' | 'or') {
    this.deciding = which === 'and' ? 0 : 1;
  }
  get bytes(): number {
    return this.states.length;
  }
  grow(groups: number): void {
    this.states = widened(this.states, groups, bytes);
  }
  update(ids: Uint32Array, argument: Vector): void {
    eachPart(argument, (part, rows) => {
      if (part.form !== 'bool') return;
      const own = pick(ids, rows);
      const { states, deciding } = this;
      for (let i = 0; i < part.length; i++) {
        const g = own[i];
        if (part.values[i] === deciding) states[g] = 1;
        else if (states[g] === 0) states[g] = 2;
      }
    });
  }
  merge(other: AggregateState, map: Uint32Array, groups: number): void {
    const from = (other as LogicState).states;
    for (let g = 0; g < groups; g++) {
      const to = map[g];
      if (to !== none && (from[g] === 1 || this.states[to] === 0)) this.states[to] = from[g];
    }
  }
  absorb(ids: Uint32Array, states: Vector): void {
    this.update(ids, states);
  }
  result(groups: number): Vector {
    const values = bytes(groups);
    const tags = new Uint32Array(groups);
    const slots = new Uint32Array(groups);
    let empty = 0;
    for (let g = 0; g < groups; g++) {
      slots[g] = g;
      values[g] = (this.states[g] === 1) === (this.deciding === 1) ? 1 : 0;
      if (this.states[g] === 0) {
        tags[g] = 1;
        empty++;
      }
    }
    const bools: Vector = { form: 'bool', length: groups, values };
    return empty === 0
      ? bools
      : { form: 'dynamic', length: groups, tags, slots, parts: [bools, { form: 'null', length: groups }] };
  }
}
