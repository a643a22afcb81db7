/** What a shell asks its questions of: a running service, or a lake that it has opened itself. */
import type { CompileFault } from '../../query/parse/error.ts';
import { types } from '../../vectors/type.ts';
import { underValue, stringData } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';

/** The pool and branch that a query without `from` reads. */
export interface Head {
  readonly pool: string;
  readonly branch?: string;
}

/** How a query is asked. `warn` is told what the text may not mean as it was written, before the first batch. */
export interface Asked {
  readonly head?: Head | undefined;
  readonly signal?: AbortSignal;
  readonly warn?: (text: string) => void;
}

/** A lake that answers queries. */
export interface ShellLake {
  /** What it is, for the greeting. */
  readonly title: string;
  /** Batches of the answer. @throws ShellFault, or `signal`'s reason */
  query(text: string, options?: Asked): AsyncIterable<Vector>;
  close(): Promise<void>;
}

/** A query that failed. `faults` are those of its text, if it was not even started. */
export class ShellFault extends Error {
  readonly faults: readonly CompileFault[];
  constructor(message: string, faults: readonly CompileFault[] = [], options?: { readonly cause?: unknown }) {
    super(message, options);
    this.faults = faults;
  }
}

interface FaultJson {
  readonly Msg: string;
  readonly Pos: number;
  readonly End: number;
}
/** Faults from the body of an error. One hint stands for all of them: it goes with the first. */
export const faultsOf = (body: {
  readonly compilation_errors?: unknown;
  readonly hint?: unknown;
}): readonly CompileFault[] => {
  const { compilation_errors: list, hint } = body;
  return (Array.isArray(list) ? (list as readonly FaultJson[]) : []).map(({ Msg, Pos, End }, i) => ({
    message: Msg,
    start: Pos,
    end: End < 0 ? -1 : End + 1,
    ...(i === 0 && typeof hint === 'string' && { hint }),
  }));
};

/** A name as the language has it: bare, or as a string. */
export const sourceName = (name: string): string =>
  /^[\p{L}_$][\p{L}\p{Nd}_$.]*$/u.test(name) ? name : JSON.stringify(name);
/** `from` of a pool and branch. */
export const fromHead = ({ pool, branch }: Head): string =>
  `from ${sourceName(pool)}${branch === undefined ? '' : `@${sourceName(branch)}`}`;

/** The strings of an answer. */
const textsOf = async (answer: AsyncIterable<Vector>): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const batch of answer) {
    for (let i = 0; i < batch.length; i++) {
      const { type, data } = underValue(valueAt(batch, i));
      if (type === types.string) found.push(stringData(data));
    }
  }
  return found;
};

/** Names of the pools, in order. */
export const poolNames = (lake: ShellLake, signal?: AbortSignal): Promise<readonly string[]> =>
  textsOf(lake.query('from :pools | sort name | values name', { ...(signal && { signal }) }));
/** Names of the pools and views, in order. */
export const tableNames = (lake: ShellLake, signal?: AbortSignal): Promise<readonly string[]> =>
  textsOf(lake.query('show tables | values name', { ...(signal && { signal }) }));
/** Names of a pool's branches and tags, in order. */
export const branchNames = (lake: ShellLake, pool: string, signal?: AbortSignal): Promise<readonly string[]> => {
  const name = sourceName(pool);
  const text = `fork ( from ${name}:branches | values branch.name ) ( from ${name}:tags | values tag.name ) | sort this`;
  return textsOf(lake.query(text, { ...(signal && { signal }) }));
};
