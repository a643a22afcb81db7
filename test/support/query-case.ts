/** Runs a query over SUP text through compiler and engine, without files and formats. */
import { compile } from '../../src/query/analyze.ts';
import { types } from '../../src/vectors/type.ts';
import { fileEnvironment } from './query-environment.ts';
import { type RunPlanOptions, runSup } from './run-plan.ts';

/** The answer as SUP, one value a line. The input is what `input` says, or one null. Its types are not known to the compiler. */
export const runQuery = async (query: string, input: string | undefined, options: RunPlanOptions = {}): Promise<string> => {
  const environment = fileEnvironment({ input: undefined, none: types.null }, input === undefined ? undefined : { kind: 'name', name: 'input' });
  return runSup(await compile(query, environment), { input: input ?? '' }, options);
};
