/**
 * A record of the service as this package has it: `records_added` is `recordsAdded`, and what is null is undefined.
 * `T`: what it then is.
 */
export const renamed = <T>(record: unknown): T =>
  Object.fromEntries(
    Object.entries(record as object).map(([name, value]: readonly [string, unknown]) => [
      name.replace(/_./g, ([, letter]) => letter!.toUpperCase()),
      value ?? undefined,
    ]),
  ) as T;
