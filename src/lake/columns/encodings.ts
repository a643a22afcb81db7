/** The numbers by which directories of blocks name how a column is stored. */
/** Encodings of a column of numbers, bytes or bools. */
export const encodings = {
  plain: 0,
  constant: 1,
  dictionary: 2,
  float32: 3,
  packed: 4,
  times: 5,
  filtered: 6,
  paired: 7,
  units: 8,
  scaled: 9,
} as const;
/** What arrays hold the numbers of a column. */
export const numberKinds = { float: 0, signed: 1, unsigned: 2 } as const;
