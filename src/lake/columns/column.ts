/** A column of a block as the directory tells it: where its segments are and how they are encoded. */
import type { Type } from '../../vectors/type.ts';
import type { Expansion } from './compression.ts';
import type { Layout } from './layout.ts';
import type { Packed, Width } from './packing.ts';
import type { BytesBounds, NumberBounds } from './statistics.ts';

/** `offset` counts from the start of the block; `length` and `check` are of what is stored. */
export interface Segment {
  readonly offset: number;
  readonly length: number;
  readonly check: number;
  /** What is stored is compressed. */
  readonly expansion?: Expansion;
}
export interface Codes {
  readonly base: number;
  readonly width: Width;
  readonly segment?: Segment;
}
export type PackedPlan = Omit<Packed, 'bytes'> & { readonly first: number; readonly segment?: Segment };
export interface Flags {
  readonly same?: number;
  readonly segment?: Segment;
}

/** A column of a block as the directory tells it: where its segments are and how they are encoded. */
export type Column =
  | { readonly form: 'empty'; readonly type: Type; readonly rows: number }
  | {
      readonly form: 'number';
      readonly layout: Extract<Layout, { form: 'number' | 'bytes' }>;
      readonly rows: number;
      readonly kind: number;
      readonly bounds?: NumberBounds;
      readonly constant?: number;
      readonly base?: number | bigint;
      readonly packed?: PackedPlan;
      /** Nanoseconds of the units that distances from the base count, as a power of ten. */
      readonly power?: number;
      /** What is packed are the numbers times this power of ten. */
      readonly digits?: number;
      readonly segment?: Segment;
      readonly float32?: boolean;
    }
  | {
      readonly form: 'bytes';
      readonly layout: Extract<Layout, { form: 'number' | 'bytes' }>;
      readonly rows: number;
      readonly bounds?: BytesBounds;
      readonly constant?: Uint8Array;
      readonly dictionary?: number;
      readonly codes?: Codes;
      readonly segment?: Segment;
      readonly times?: { readonly digits: number; readonly base: number };
      readonly packed?: PackedPlan;
      /** Of the column's values (membership.ts); not read with them. */
      readonly filter?: Segment;
      /** Of its bytes (pairs.ts); not read with them. */
      readonly pairs?: Segment;
    }
  | { readonly form: 'bool'; readonly rows: number; readonly flags: Flags }
  | { readonly form: 'null'; readonly rows: number }
  | { readonly form: 'type'; readonly rows: number; readonly table: readonly Type[]; readonly codes: Codes }
  | {
      readonly form: 'enum';
      readonly rows: number;
      readonly layout: Extract<Layout, { form: 'enum' }>;
      readonly codes: Codes;
    }
  | {
      readonly form: 'record';
      readonly rows: number;
      readonly fields: readonly {
        readonly name: string;
        readonly optional: boolean;
        readonly present?: Flags;
        readonly values: Column;
      }[];
    }
  | {
      readonly form: 'list';
      readonly rows: number;
      readonly layout: Extract<Layout, { form: 'list' }>;
      readonly lengths: Codes;
      readonly items: Column;
    }
  | {
      readonly form: 'map';
      readonly rows: number;
      readonly layout: Extract<Layout, { form: 'map' }>;
      readonly lengths: Codes;
      readonly keys: Column;
      readonly values: Column;
    }
  | {
      readonly form: 'union';
      readonly rows: number;
      readonly layout: Extract<Layout, { form: 'union' }>;
      readonly tags: Codes;
      readonly members: readonly Column[];
    }
  | { readonly form: 'dynamic'; readonly rows: number; readonly tags: Codes; readonly parts: readonly Column[] }
  | { readonly form: 'error'; readonly rows: number; readonly inner: Column }
  | { readonly form: 'named'; readonly rows: number; readonly name: string; readonly inner: Column };

type RecordColumn = Extract<Column, { form: 'record' }>;
export type DynamicColumn = Extract<Column, { form: 'dynamic' }>;
/** Where fields of a name were last: blocks have the same ones in the same places, and wide rows have many. */
const places = new Map<string, number>();
const placesMax = 4096;
/** A field of a record's column by its name. */
export const fieldNamed = ({ fields }: RecordColumn, name: string): RecordColumn['fields'][number] | undefined => {
  const known = places.get(name);
  const field = known === undefined ? undefined : fields[known];
  if (field?.name === name) return field;
  const at = fields.findIndex((f) => f.name === name);
  if (at < 0) return undefined;
  if (places.size >= placesMax) places.clear();
  places.set(name, at);
  return fields[at];
};
