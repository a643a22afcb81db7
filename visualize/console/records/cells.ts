/** Values of the service with their types, outside of the query page: nothing of them is rounded. */
import { LakeFailure } from '../../../src/client/client.ts';
import { linesOf } from '../../../src/client/lines.ts';
import { mediaTypes } from '../../../src/client/query.ts';
import { supText } from '../query/print.ts';
import { type Cell, partsOf, plain, TypeTable } from '../query/wire.ts';

/** Of requests whose answer `cellsOf` reads. */
export const cellsAccept = mediaTypes.jsup;

interface Line {
  readonly type: unknown;
  readonly value: unknown;
}
/** The values of an answer in JSUP, with or without messages between them. @throws LakeFailure for a fault amid them */
export async function* cellsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Cell> {
  const table = new TypeTable();
  for await (const text of linesOf(stream)) {
    if (text === '') continue;
    const { type, value } = JSON.parse(text) as Line;
    if (type === 'QueryError')
      throw new LakeFailure(String((value as { readonly error: unknown }).error), { status: 200 });
    if (typeof type !== 'string') yield { type: table.read(type), json: value, table };
  }
}

/** Whether two values are the same to the last digit, types included; both may be absent. */
export const isSame = (a: Cell | undefined, b: Cell | undefined): boolean =>
  a === undefined || b === undefined ? a === b : supText(a) === supText(b);

/** A record's fields by name; undefined for what is no record. */
export const fieldsOf = (cell: Cell): ReadonlyMap<string, Cell> | undefined => {
  const value = plain(cell);
  if (value.type.kind !== 'record' || value.json === null) return undefined;
  return new Map(
    partsOf(value).flatMap(({ field, cell: inner }) => (field && inner ? [[field.name, inner] as const] : [])),
  );
};

/** A key as one reads it: the values of its fields, without their names where there is one alone. */
export const keyLabel = (key: Cell): string => {
  const fields = fieldsOf(key);
  if (!fields || fields.size === 0) return supText(key);
  if (fields.size > 1) return [...fields].map(([name, cell]) => `${name} ${supText(cell)}`).join(', ');
  const [[name, cell]] = [...fields] as [[string, Cell]];
  return `${name} ${supText(cell)}`;
};
