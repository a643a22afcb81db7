/** The parts of a mixed column, as an encoder stores them one by one: their names, and their rows in order. */
import type { MemberRows } from '../../vectors/member-rows.ts';
import { type Vector, slice, take, uniformType } from '../../vectors/vector.ts';

/** Parts are stored by name, so that blocks that met them in another order share a layout. */
export const partName = (v: Vector): string => {
  switch (v.form) {
    case 'constant':
    case 'error':
      return `${v.form} ${partName(v.inner)}`;
    case 'named':
      return `=${v.name}`;
    case 'dictionary':
      return partName(v.values);
    case 'selected':
      return partName(v.base);
    case 'record':
      return `{${v.fields.map((f) => f.name).join()}}`;
    case 'dynamic':
      return 'dynamic';
    default: {
      const type = uniformType(v)!;
      return type.kind === 'primitive' ? type.name : `${v.form} ${type.id}`;
    }
  }
};

/** The rows of one member in row order; the member itself if that is what it holds. */
export const rowsOf = (member: Vector, { starts, slots, inOrder }: MemberRows, tag: number): Vector => {
  const own = slots.subarray(starts[tag]!, starts[tag + 1]!);
  const first = own[0] ?? 0;
  return inOrder[tag] ? slice(member, first, first + own.length) : take(member, own);
};
