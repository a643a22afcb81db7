/** Random numbers that a seed gives again. Tests print the seed; `SEED=n npx vitest run <file>` runs them with it. */

/**
 * The seed of a run: from the environment, else the test's own, so that every run is the same unless somebody asks for
 * another one.
 */
export const seedOf = (own: number): number => Number(process.env['SEED'] ?? own);

export interface Random {
  /** From 0 to below `end`. */
  readonly below: (end: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
  /** Hexadecimal digits: text that does not compress below half. */
  readonly hex: (length: number) => string;
}

/** mulberry32. */
export const randomOf = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return (x ^ (x >>> 14)) >>> 0;
  };
  const below = (end: number): number => Math.floor((next() / 2 ** 32) * end);
  return {
    below,
    pick: (items) => items[below(items.length)]!,
    hex: (length) => {
      let text = '';
      while (text.length < length) text += next().toString(16).padStart(8, '0');
      return text.slice(0, length);
    },
  };
};
