/** Runs queries over SUP text through compiler and engine, without files and formats. */
import { compile } from '../../../src/query/analyze.ts';
import type { Plan } from '../../../src/query/plan/plan.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { types } from '../../../src/vectors/type.ts';
import { fileEnvironment } from './environment.ts';
import { type RunPlanOptions, runPlan, runSup, supOf } from './run-plan.ts';

/**
 * The answer as SUP, one value a line. The input is what `input` says, or one null. Its types are not known to the
 * compiler.
 */
export const runQuery = async (
  query: string,
  input: string | undefined,
  options: RunPlanOptions = {},
): Promise<string> => runSup(await planOfCase(query, input), { input: input ?? '' }, options);

/**
 * The answers in these variants, by name; where one ends in an error, its text. Plan and rows are the same ones in all
 * of them: they are made once, and one test a case holds all its variants, since both take longer than to run a case
 * again.
 */
export const runVariants = async (
  query: string,
  input: string,
  variants: Readonly<Record<string, RunPlanOptions>>,
): Promise<Record<string, string>> => {
  const plan = await planOfCase(query, input);
  const rows = vectorOf(parseSupValues(input));
  const answers: Record<string, string> = {};
  for (const [name, options] of Object.entries(variants)) {
    answers[name] = await runPlan(plan, { input: rows }, options).then(
      (batches) => supOf(batches.filter((b) => b.channel === 'main').map((b) => b.batch)),
      String,
    );
  }
  return answers;
};
/** This answer in each of the variants. */
export const inAll = (variants: Readonly<Record<string, RunPlanOptions>>, answer: string): Record<string, string> =>
  Object.fromEntries(Object.keys(variants).map((name) => [name, answer]));

const planOfCase = (query: string, input: string | undefined): Promise<Plan> =>
  compile(
    query,
    fileEnvironment(
      { input: undefined, none: types.null },
      input === undefined ? undefined : { kind: 'name', name: 'input' },
    ),
  );
