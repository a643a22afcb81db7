/**
 * From levels and values of leaves to vectors of nested columns, without an object a row.
 *
 * An entry of a leaf belongs to a node if its repetition is not beyond the node's; it is one of the node's rows if its
 * definition says that what holds the node exists.
 */
import { arrayType } from '../../vectors/type.ts';
import { type Vector, uniformType } from '../../vectors/vector.ts';
import { mapVector, withNulls } from '../columns/in.ts';
import { distinctNames } from '../columns/types.ts';
import type { Losses } from '../columns/decimals.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import type { Entries } from './open-page.ts';
import { type Content, type Node, leavesOf } from './plan.ts';

/** What a column is made of. `losses`: told of what its values lose. */
interface Chunks {
  readonly of: (leaf: number) => Entries;
  readonly losses?: Losses | undefined;
}
/** Rows of the node are entries up to this repetition and from this definition on. */
interface Context {
  readonly repetition: number;
  readonly definition: number;
}

/** The rows of a column. @throws BytesFault for leaves that contradict each other */
export const assemble = (node: Node, chunks: Chunks): Vector => build(node, { repetition: 0, definition: 0 }, chunks);

const build = (node: Node, context: Context, chunks: Chunks): Vector => {
  const first = leavesOf(node)[0];
  if (!first) throw new BytesFault(`column ${node.name} has nothing in it`);
  if (!node.optional) return inside(node.content, context, chunks);
  const dense = inside(node.content, { ...context, definition: node.definition }, chunks);
  const { rows, valid } = rowsOf(chunks.of(first.index), context, node.definition);
  if (dense.length !== (valid?.length ?? rows)) throw contradiction(node.name);
  return withNulls(dense, rows, valid);
};

const inside = (content: Content, context: Context, chunks: Chunks): Vector => {
  switch (content.kind) {
    case 'leaf':
      return chunks.of(content.index).values;
    case 'struct': {
      const names = distinctNames(content.fields.map((f) => f.name));
      const fields = content.fields.map((f, k) => ({
        name: names[k],
        optional: false,
        values: build(f, context, chunks),
      }));
      const rows = fields[0].values.length;
      if (fields.some((f) => f.values.length !== rows)) throw contradiction(names[0]);
      return { form: 'record', length: rows, fields };
    }
    case 'list': {
      const { item, itemDefinition: definition, repetition } = content;
      const items = build(item, { repetition, definition }, chunks);
      const offsets = runsOf(chunks.of(leavesOf(item)[0].index), context, { repetition, definition });
      if (offsets[offsets.length - 1] !== items.length) throw contradiction(item.name);
      return { form: 'list', type: arrayType(uniformType(items)!), length: offsets.length - 1, offsets, items };
    }
    case 'map': {
      const { key, value, itemDefinition: definition, repetition } = content;
      const keys = build(key, { repetition, definition }, chunks);
      const values = build(value, { repetition, definition }, chunks);
      const offsets = runsOf(chunks.of(leavesOf(key)[0].index), context, { repetition, definition });
      if (keys.length !== values.length || offsets[offsets.length - 1] !== keys.length) throw contradiction(key.name);
      return mapVector(offsets.length - 1, offsets, keys, values, chunks.losses);
    }
  }
};
const contradiction = (name: string): BytesFault => new BytesFault(`columns of ${name} have unlike numbers of rows`);

/** How many rows there are and which are not null. */
const rowsOf = (
  { entries, definition, repetition }: Entries,
  context: Context,
  level: number,
): { readonly rows: number; readonly valid: Uint32Array | undefined } => {
  if (!definition && !repetition) return { rows: entries, valid: undefined };
  const index = new Uint32Array(entries);
  let rows = 0;
  let valid = 0;
  for (let e = 0; e < entries; e++) {
    if ((repetition && repetition[e] > context.repetition) || (definition && definition[e] < context.definition))
      continue;
    if (!definition || definition[e] >= level) index[valid++] = rows;
    rows++;
  }
  return { rows, valid: valid === rows ? undefined : index.subarray(0, valid) };
};

/** Where the items of each row begin. */
const runsOf = ({ entries, definition, repetition }: Entries, rows: Context, items: Context): Uint32Array => {
  const offsets = new Uint32Array(entries + 1);
  let row = 0;
  let count = 0;
  for (let e = 0; e < entries; e++) {
    const r = repetition ? repetition[e] : 0;
    const d = definition ? definition[e] : 0;
    if (r <= rows.repetition && d >= rows.definition) offsets[row++] = count;
    if (r <= items.repetition && d >= items.definition) {
      if (row === 0) throw new BytesFault('list begins inside a row');
      count++;
    }
  }
  offsets[row] = count;
  return offsets.subarray(0, row + 1);
};
