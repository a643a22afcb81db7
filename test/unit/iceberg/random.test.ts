/** Values of any type at all as files of a table: each row is there, and no value of it is dropped. */
import fc from 'fast-check';
import { parquetMetadata, parquetRead, parquetSchema } from 'hyparquet';
import { expect, test } from 'vitest';
import { restName } from '../../../src/iceberg/columns.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { type Value, underValue } from '../../../src/vectors/value.ts';
import type { Vector } from '../../../src/vectors/vector.ts';
import { forced, forcedForms } from '../../support/forced-forms.ts';
import { seedOf } from '../../support/random.ts';
import { rendered } from '../../support/renditions.ts';
import { anyValue } from '../../support/values.ts';

const seed = seedOf(7);
console.log(`files of tables: seed ${seed}`);

/** Rows of a file: the columns that each has a value in. */
const filled = async (
  batches: readonly Vector[],
): Promise<{ readonly rows: readonly ReadonlySet<string>[]; readonly fields: ReadonlyMap<string, string> }> => {
  const { bytes, columns } = rendered(batches);
  const file = new Uint8Array(bytes).buffer;
  const names = parquetSchema(parquetMetadata(file)).children.map(({ element }) => element.name);
  const rows: ReadonlySet<string>[] = [];
  await parquetRead({
    file,
    onComplete: (read: readonly (readonly unknown[])[]) => {
      for (const row of read) rows.push(new Set(names.filter((_, i) => row[i] !== null && row[i] !== undefined)));
    },
  });
  const fields = new Map(
    columns.flatMap(({ parent, role, field, name }) =>
      parent === 0 && role === 'field' ? [[name, field] as const] : [],
    ),
  );
  return { rows, fields };
};

/** The fields of a row that have a value. */
const fieldsOf = (row: Value): readonly string[] | undefined => {
  const { type, data } = underValue(row);
  if (type.kind !== 'record') return undefined;
  return type.fields.flatMap((field, i) => {
    const value = (data as readonly (Value['data'] | undefined)[])[i];
    if (value === undefined) return [];
    const inner = underValue({ type: field.type, data: value });
    return inner.data === null ? [] : [field.name];
  });
};

test('no value is dropped, whatever its type and the form that it comes in', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyValue(3), { minLength: 1, maxLength: 12 }),
      fc.constantFrom(undefined, ...forcedForms),
      async (values, form) => {
        // The reader has records as objects, in which that name is none.
        fc.pre(!values.some((value) => supText(value).includes('__proto__')));
        const vector = vectorOf(values);
        const { rows, fields } = await filled(form ? forced(vector, form) : [vector]);
        expect(rows).toHaveLength(values.length);
        values.forEach((value, i) => {
          const own = fieldsOf(value);
          const there = new Set([...rows[i]!].map((name) => fields.get(name) ?? name));
          const { type, data } = underValue(value);
          if (own) for (const field of own) expect(there.has(field), supText(value)).toBe(true);
          else if (!(type.kind === 'primitive' && data === null))
            expect(there.has(restName), supText(value)).toBe(true);
        });
      },
    ),
    { seed, numRuns: Number(process.env['RUNS'] ?? 300) },
  );
});
