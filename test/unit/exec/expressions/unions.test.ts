/** Unions that casts make, as writers of columns see them: members without rows are of their types too. */
import { expect, test } from 'vitest';
import { compile } from '../../../../src/query/analyze.ts';
import { createWriter } from '../../../../src/formats/formats.ts';
import { printed, readValues } from '../../../support/formats/convert.ts';
import { fileEnvironment } from '../../../support/queries/environment.ts';
import { runPlan } from '../../../support/queries/run-plan.ts';

test.each([
  '{v:"a"::(int64|string)}',
  '{v:1::(int64|string)}',
  '{v:1::(int64|{x:string})}',
  '{v:{x:"a"}::(int64|{x:string})}',
  '{v:[1]::([int64]|time|{x:{y:bool}})}',
  '{v:{a:"x"::(string|time)}}',
])('%s comes back from Arrow', async (text) => {
  const plan = await compile(`values ${text}`, fileEnvironment({}, undefined));
  const batches = (await runPlan(plan, {})).map(({ batch }) => batch);
  const writer = createWriter('arrows', {});
  const bytes = Buffer.concat([...batches.flatMap((batch) => [...writer.write(batch)]), ...writer.end()]);
  const sup = createWriter('sup', {});
  const lines = Buffer.concat([...batches.flatMap((batch) => [...sup.write(batch)]), ...sup.end()]);
  expect(printed(await readValues(bytes, 'arrows'))).toEqual(printed(await readValues(lines, 'sup')));
});
