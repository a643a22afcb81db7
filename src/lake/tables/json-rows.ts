/** Rows that are JSON: a list of what a row's value has says under which name each is written, and how. */
import { isId } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';

interface Member<V> {
  readonly name: string;
  readonly write: (value: V) => unknown;
  readonly read: (written: unknown) => V;
}
interface Optional<V> extends Member<V> {
  readonly isOptional: true;
}
type Members<T> = {
  readonly [M in keyof T]-?: Record<never, never> extends Pick<T, M> ? Optional<NonNullable<T[M]>> : Member<T[M]>;
};

const asItIs = (value: unknown): unknown => value;
/** What JSON has, unseen. */
export const plain = <V>(name: string): Member<V> => ({ name, write: asItIs, read: asItIs as (written: unknown) => V });
export const id = (name: string): Member<Id> => ({ name, write: asItIs, read: idOf });
export const ids = (name: string): Member<readonly Id[]> => ({
  name,
  write: asItIs,
  read: (written) => {
    for (const each of written as readonly unknown[]) idOf(each);
    return written as readonly Id[];
  },
});
/** Nanoseconds, as a text. */
export const time = (name: string): Member<bigint> => ({ name, write: String, read: (text) => BigInt(text as string) });
/** One that is not written where a value does not have it. */
export const optional = <V>(member: Member<V>): Optional<V> => ({ ...member, isOptional: true });

const idOf = (written: unknown): Id => {
  if (!isId(written)) throw new Error(`${JSON.stringify(written)} is no id`);
  return written;
};

interface JsonRow<T> {
  readonly encode: (value: T) => Buffer;
  /** Adds what it says to what is known, such as by its key. Throws what is wrong with it. */
  readonly decode: <K extends object>(payload: Buffer, known: K) => K & T;
}
/** A row with these members, in their order. */
export const jsonRow = <T extends object>(members: Members<T>): JsonRow<T> => {
  const list = Object.entries(members) as [keyof T, Member<unknown> & { readonly isOptional?: true }][];
  return {
    encode: (value) => {
      const row: Record<string, unknown> = {};
      for (const [member, { name, write }] of list) {
        const own = value[member];
        if (own !== undefined) row[name] = write(own);
      }
      return Buffer.from(JSON.stringify(row), 'utf8');
    },
    decode: (payload, known) => {
      const row = JSON.parse(payload.toString('utf8')) as Record<string, unknown>;
      const value = known as Record<keyof T, unknown>;
      for (const [member, { name, read, isOptional }] of list) {
        const written = row[name];
        if (!isOptional || (written !== undefined && written !== null)) value[member] = read(written);
      }
      return known as typeof known & T;
    },
  };
};
