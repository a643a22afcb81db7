/** What vectors are made of, without a look at their rows. */
import type { Vector } from './vector.ts';

/**
 * A quick look at the forms: whether the vector is one that the test knows, or has one of its kind under a name, or as
 * the values of a constant, a dictionary, a selection or a union. Fields, elements and what is in errors are not looked
 * at.
 */
export const someForm = (v: Vector, test: (form: Vector) => boolean): boolean => {
  if (test(v)) return true;
  switch (v.form) {
    case 'constant':
    case 'named':
      return someForm(v.inner, test);
    case 'dictionary':
      return someForm(v.values, test);
    case 'selected':
      return someForm(v.base, test);
    case 'dynamic':
      return v.parts.some((part) => someForm(part, test));
    case 'union':
      return v.members.some((member) => someForm(member, test));
    default:
      return false;
  }
};
