/**
 * Faults of a query text as a person at a terminal sees them: the text of errors, then a line of advice for each that
 * has one.
 */
import { adviceToAll } from '../query/parse/advice.ts';
import { type CompileError, type QuerySource, formatCompileErrors, joinSources } from '../query/parse/error.ts';
import { aggregateRows, functionRows, windowRows } from './help.ts';

/** How a function or aggregate is called. */
export const syntaxOf = (name: string): string | undefined =>
  [...functionRows, ...aggregateRows, ...windowRows].find((row) => row.name === name)?.syntax;

/** The text of all faults; `advice` adds lines that begin with `hint:`. */
export const compileErrorText = (sources: readonly QuerySource[], error: CompileError, advice: boolean): string => {
  const text = formatCompileErrors(sources, error.errors);
  return advice ? [text, ...adviceToAll(joinSources(sources), error.errors, syntaxOf).map(hintLine)].join('\n') : text;
};

/** A hint on a line of its own. */
export const hintLine = (hint: string): string => `hint: ${hint}`;
