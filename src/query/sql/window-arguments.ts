/** Arguments of window functions that SQL gives by their names, `lead(v, "offset" := 2)`. */
import type { Analysis } from '../analyze/context.ts';
import { didYouMean } from '../analyze/suggest.ts';
import type { Arg, RecordElem, Span } from '../ast.ts';
import type { FunctionSignature } from '../plan/plan.ts';

/**
 * All arguments by their places; what is left out before a named one is a literal that stands for it. Undefined where a
 * name is wrong: one fault says so.
 */
export const argumentsByPlace = (
  a: Analysis,
  args: readonly Arg[],
  f: FunctionSignature,
): readonly Arg[] | undefined => {
  const named = args.at(-1);
  const { parameters } = f;
  if (!parameters || named?.kind !== 'record' || !named.ofCall) return args;
  const placed: (Arg | undefined)[] = args.slice(0, -1);
  const before = a.faults.length;
  for (const element of named.elems) put(a, placed, element, f.name, parameters);
  if (a.faults.length > before) return undefined;
  return Array.from(placed, (arg, i) => arg ?? leftOut(a, i, parameters, f.name, named));
};
const put = (
  a: Analysis,
  placed: (Arg | undefined)[],
  element: RecordElem,
  name: string,
  parameters: readonly string[],
): void => {
  if (element.kind !== 'record-field') return;
  const at = parameters.indexOf(element.name.text.toLowerCase());
  if (at < 0)
    return a.fault(
      `${name} has no argument "${element.name.text}"`,
      element,
      didYouMean(element.name.text, parameters) ?? `its arguments are ${parameters.join(', ')}`,
    );
  if (placed[at]) return a.fault(`argument "${parameters[at]!}" of ${name} is given twice`, element);
  placed[at] = element.expr;
};
/** One row further on; the first argument has no value of its own. */
const leftOut = (a: Analysis, at: number, parameters: readonly string[], name: string, { start, end }: Span): Arg => {
  if (at === 0) a.fault(`${name} needs its argument "${parameters[0]!}"`, { start, end });
  return { kind: 'literal', type: 'int64', text: '1', start, end };
};
