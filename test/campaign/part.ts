/** What a part of the campaign is: it goes through seeds and counts. */
interface PartOptions {
  /** For what it writes; empty, removed afterwards. */
  readonly folder: string;
  readonly seeds: Iterable<number>;
  /** Adds to a count, by default one; `max`: keeps the greatest. */
  readonly count: (name: string, n?: number, how?: 'sum' | 'max') => void;
  readonly failed: (seed: number, fault: string) => void;
}
export type PartRun = (options: PartOptions) => Promise<void>;
