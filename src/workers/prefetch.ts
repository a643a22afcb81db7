/**
 * The pools that a query text most likely reads, found without parsing it: the main thread has them ready when the
 * worker would ask. A wrong guess costs a look-up.
 */

const name = String.raw`(?:'([^'\\\n]+)'|"([^"\\\n]+)"|([A-Za-z_][\w.]*))(?![\w.@:(*?[/-])`;
const sourceName = new RegExp(String.raw`\b(?:from|join)\s+${name}`, 'gi');
/** Another one behind it, as SQL lists them: `from a, b as x, c y`. */
const nextName = new RegExp(String.raw`(?:\s+(?:as\s+)?[A-Za-z_]\w*)?\s*,\s*${name}`, 'iy');
/**
 * More are asked for one by one, and the plan is not kept for when the text comes again. With the tables of a list, and
 * 8 of them in place of 4, the 22 queries of TPC-H on 600,000 rows take 0.82 of the processor time (0.34 to 1).
 */
const namesMax = 8;
/** What comes later in a text is not looked for. */
const textMax = 16_384;

/** Names behind `from` and `join`, without those of a certain commit or metadata. */
export const namesIn = (text: string): readonly string[] => {
  const names = new Set<string>();
  for (const match of text.slice(0, textMax).matchAll(sourceName)) {
    nextName.lastIndex = match.index + match[0].length;
    for (let found: RegExpExecArray | null = match; found; found = nextName.exec(match.input)) {
      names.add(found[1] ?? found[2] ?? found[3]!);
      if (names.size === namesMax) return [...names];
    }
  }
  return [...names];
};

/** The default source and branch of a query. */
export interface Head {
  readonly pool?: string;
  readonly branch?: string;
}
/**
 * A pool that is named without a branch is read at that of `head`, unless that is of another pool, or it stands in the
 * text of a view.
 */
export const atHead = <T extends { readonly name: string; readonly commit?: string; readonly inView?: true }>(
  request: T,
  head: Head | undefined,
): T & { readonly atHead?: true } =>
  request.inView ||
  head?.branch === undefined ||
  request.commit !== undefined ||
  (head.pool !== undefined && head.pool !== request.name)
    ? request
    : { ...request, commit: head.branch, atHead: true };
