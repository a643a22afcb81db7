/** Vectors without their outermost names and unions. */
import { keepsName } from '../../vectors/decimal.ts';
import { onlyMember } from '../../vectors/unions.ts';
import { type Vector, constant, gather, take } from '../../vectors/vector.ts';
import { combine } from '../expressions/rows.ts';

/** The same rows, names and unions taken off; what is known of decimals by them stays, and names that are `kept`. */
export const under = (v: Vector, kept: (name: string) => boolean = keepsName): Vector => {
  switch (v.form) {
    case 'named':
      return kept(v.name) ? v : under(v.inner, kept);
    case 'union': {
      const member = onlyMember(v);
      return member
        ? under(member, kept)
        : combine(
            v.tags.subarray(0, v.length),
            v.slots.subarray(0, v.length),
            v.members.map((m) => under(m, kept)),
          );
    }
    case 'dynamic': {
      const parts = v.parts.map((p) => under(p, kept));
      return parts.every((p, k) => p === v.parts[k])
        ? v
        : combine(v.tags.subarray(0, v.length), v.slots.subarray(0, v.length), parts);
    }
    case 'constant': {
      const inner = under(v.inner, kept);
      return inner === v.inner ? v : constant(gather(inner, new Uint32Array(1)), v.length);
    }
    case 'dictionary': {
      const values = under(v.values, kept);
      return values === v.values ? v : take(values, v.codes.subarray(0, v.length));
    }
    case 'selected': {
      const base = under(v.base, kept);
      return base === v.base ? v : take(base, v.index.subarray(0, v.length));
    }
    default:
      return v;
  }
};
