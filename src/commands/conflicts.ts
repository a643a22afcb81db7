/** Records in conflict, as a dry run of a merge, a revert or a pick tells them. */
import { parseSup } from '../vectors/sup/parse.ts';
import { supText } from '../vectors/sup/print.ts';
import { type Value, underValue, itemsData } from '../vectors/value.ts';

/** The lines of a page of them, `{key,base,ours,theirs}` each, and how many there are of all pages. */
export const conflictLines = (answer: string): { readonly lines: readonly string[]; readonly count: number } => {
  const told = fieldOf(parseSup(answer), 'record_conflicts');
  const list = fieldOf(told, 'conflicts');
  const { type, data } = list ? underValue(list) : { type: undefined, data: undefined };
  const count = fieldOf(told, 'count')?.data;
  if (type?.kind !== 'array') return { lines: [], count: 0 };
  const lines = itemsData(data).map((item) => supText(underValue({ type: type.element, data: item })));
  return { lines, count: Number(count) };
};
const fieldOf = (value: Value | undefined, name: string): Value | undefined => {
  const { type, data } = value ? underValue(value) : { type: undefined, data: undefined };
  if (type?.kind !== 'record') return undefined;
  const at = type.fields.findIndex((field) => field.name === name);
  return at < 0 ? undefined : { type: type.fields[at].type, data: itemsData(data)[at] };
};
