/** Examples of SQL's forms and of operators give what stands beside them. */
import { describe, expect, test } from 'vitest';
import { operatorTable } from '../../../src/query/reference/operators.ts';
import { sqlTable } from '../../../src/query/reference/sql.ts';
import { runQuery } from '../../support/queries/case.ts';

describe.each([...Object.entries(sqlTable), ['operators', operatorTable] as const])('%s', (_, forms) => {
  test.each(
    forms.flatMap(({ examples }) =>
      examples.filter(({ output }) => output !== '').map(({ query, output }) => [query, output] as const),
    ),
  )('%s', async (query, output) => {
    expect(await runQuery(query, undefined)).toBe(`${output}\n`);
  });
});
