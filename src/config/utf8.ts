/** What becomes of bytes in texts that are no UTF-8: a parameter of loads, an option of `lake load` and `lake query`. */
export const utf8Parameter = {
  name: 'utf8',
  value: 'RULE',
  /** Of a value, as JSON Schema has it. */
  pattern: '^(keep|refuse)$',
  text: 'bytes of texts that are no UTF-8: keep them in strings, where text formats show U+FFFD, or refuse them with their line; default keep',
} as const;

const pattern = new RegExp(utf8Parameter.pattern, 'u');
/** Whether a value is one that the parameter takes. */
export const isUtf8Rule = (text: string): text is 'keep' | 'refuse' => pattern.test(text);
