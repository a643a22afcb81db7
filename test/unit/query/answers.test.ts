/**
 * Queries, names, messages and places as SuperDB v0.2.0's `super -dynamic` answers them (recorded from it):
 * `test/cases/answers/v0.2.0.jsonl`, a query a line.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { runCase } from '../../support/queries/conformance.ts';

interface Outcome {
  readonly output?: string;
  readonly error?: string;
}
/** `ours`: what SQL's standard wants instead inside of SELECT, and `why`. */
interface Answer extends Outcome {
  readonly query: string;
  readonly input?: string;
  readonly ours?: Outcome;
  readonly why?: string;
}

const file = new URL('../../cases/answers/v0.2.0.jsonl', import.meta.url);
const answers = readFileSync(file, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line) as Answer);

// Groups come in no order: lines are compared sorted.
const lines = (text: string): readonly string[] => text.split('\n').sort();

test.each(answers)('$query', async ({ query, input = null, ours, ...recorded }) => {
  const { output = '', error = '' } = ours ?? recorded;
  const found = await runCase(
    { id: query, group: 'answers', query, input, input_args: [], output_args: [], output, error },
    tmpdir(),
  );
  expect({ output: lines(found.output), error: found.error.trimEnd() }).toEqual({
    output: lines(output),
    error: error.trimEnd(),
  });
});
