/**
 * What came out of a replay otherwise than it was recorded. Imports nothing: the inspector's page compares with it too.
 */

/** One step that came out otherwise. */
export interface Difference {
  readonly step: string;
  readonly what: string;
  readonly expected: unknown;
  readonly found: unknown;
}
/** What a report says besides its counts. */
export interface Findings {
  /** The first ones. */
  readonly differences: readonly Difference[];
  readonly differenceCount: number;
  /** What could not be compared, and why. */
  readonly notes: readonly string[];
}

/** Differences that are kept. */
const differencesMax = 20;

/** Collects what a replay finds. */
export class FindingList {
  private readonly differences: Difference[] = [];
  private readonly notes: string[] = [];
  private differenceCount = 0;

  note(text: string): void {
    this.notes.push(text);
  }
  /** Values are compared as they are read back from a line. */
  compare(step: string, what: string, expected: unknown, found: unknown): void {
    if (!sameJson(expected, found)) this.differ({ step, what, expected, found });
  }
  differ(difference: Difference): void {
    this.differenceCount++;
    if (this.differences.length < differencesMax) this.differences.push(difference);
  }
  report(): Findings {
    return { differences: this.differences, differenceCount: this.differenceCount, notes: this.notes };
  }
}

/** Whether both are the same once they are written as JSON. */
export const sameJson = (a: unknown, b: unknown): boolean => sameData(asJson(a), asJson(b));
const asJson = (value: unknown): unknown =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);

/**
 * Whether both are the same plain data: a field that is undefined is not one that is absent. What is neither a list nor
 * a plain map is the same as itself alone.
 */
export const sameData = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, i) => sameData(one, b[i]));
  if (!isPlain(a) || !isPlain(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameData(a[name], b[name]))
  );
};
const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** A difference as three lines for people. */
export const differenceText = ({ step, what, expected, found }: Difference): string =>
  `${step}: ${what}\n  expected ${JSON.stringify(expected) ?? 'nothing'}\n  found    ${JSON.stringify(found) ?? 'nothing'}`;
