/**
 * The pools that a query text most likely reads, found without parsing it: the main thread has them ready when the
 * worker would ask. A wrong guess costs a look-up.
 */

const sourceName = /\b(?:from|join)\s+(?:'([^'\\\n]+)'|"([^"\\\n]+)"|([A-Za-z_][\w.]*))(?![\w.@:(*?[/-])/gi;
/** More are asked for one by one. */
const namesMax = 4;
/** What comes later in a text is not looked for. */
const textMax = 16_384;

/** Names behind `from` and `join`, without those of a certain commit or metadata. */
export const namesIn = (text: string): readonly string[] => {
  const names = new Set<string>();
  for (const [, single, double, plain] of text.slice(0, textMax).matchAll(sourceName)) {
    names.add(single ?? double ?? plain!);
    if (names.size === namesMax) break;
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
