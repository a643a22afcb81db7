/** What a load does with records that cannot be read: a parameter of loads, an option of `lake load`. */
export const errorsParameter = {
  name: 'errors',
  value: 'RULE',
  /** Of a value, as JSON Schema has it. */
  pattern: '^(refuse|skip|wrap)$',
  text: 'faulty records: refuse the load, skip them and report the first ones, or wrap them as error values in their place; default refuse',
} as const;

const pattern = /^(skip|wrap)$/u;
/** Whether a value is one that the parameter takes, beside `refuse`. */
export const isErrorsRule = (text: string): text is 'skip' | 'wrap' => pattern.test(text);

/** Where a load puts the faulty records that it skips. */
export const rejectedParameter = {
  name: 'rejected',
  value: 'POOL',
  text: 'with errors=skip: the pool whose branch main gets the faulty records, in a commit of its own; default: the answer has the first 100',
} as const;
