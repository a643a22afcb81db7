/** Values of any type at all as files of a table: each row is there, and no value of it is dropped. */
import fc from 'fast-check';
import { parquetMetadata, parquetRead, parquetSchema } from 'hyparquet';
import { expect, test } from 'vitest';
import { restName } from '../../../src/iceberg/columns.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { type Value, underValue } from '../../../src/vectors/value.ts';
import type { Vector } from '../../../src/vectors/vector.ts';
import { forced, forcedForms } from '../../support/queries/forced-forms.ts';
import { seedOf } from '../../support/random.ts';
import { rendered } from '../../support/iceberg/renditions.ts';
import { anyValue } from '../../support/formats/values.ts';

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

/** Values under names that a table has types for, and others under these. */
const named: readonly (readonly [string, readonly string[]])[] = [
  ['deciaml_2_9', ['1.5', '-0.', '0.125', '1e12', 'NaN', '+Inf', '1234567.89', '"x"', '7']],
  ['deciaml_0_38', ['1e37', '1e38', '-5.', '0.5']],
  ['deciaml_40_76', ['1.5']],
  ['sql_decimal', ['"1.5"', '"12345678901234567890.25"', '"1e5"', '"-0.0000000001"', '"x"', '3']],
  ['arrow_date32', ['2024-01-02T00:00:00Z', '2024-01-02T00:00:01Z', '1969-12-31T00:00:00Z', '5']],
  ['arrow_time64_ns', ['1970-01-01T23:59:59.999999Z', '1970-01-01T00:00:00.000000001Z', '1969-12-31T23:00:00Z']],
  ['arrow_uuid', ['0x00112233445566778899aabbccddeeff', '0x0011', '"u"']],
  ['arrow_fixed_size_binary_2', ['0x0102', '0x01']],
  ['arrow_decimal128', ['{high:1,low:2::uint64}', '{high:9223372036854775807,low:0::uint64}', '{high:1}']],
];
const namedText = fc
  .constantFrom(...named)
  .chain(([name, texts]) => fc.constantFrom(...texts).map((text) => `${text}::=${name}`));
const namedRow = fc
  .oneof(
    namedText,
    fc.array(namedText, { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    fc.array(fc.tuple(namedText, namedText), { maxLength: 2 }).map((l) => `|{${l.map((e) => e.join(':')).join(',')}}|`),
    namedText.map((text) => `[|{"k":[${text}]}|]`),
  )
  .map((text) => parseSupValues(`{a:${text}}`)[0]!);

test('no value is dropped, whatever its type and the form that it comes in', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(anyValue(3), namedRow), { minLength: 1, maxLength: 12 }),
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
