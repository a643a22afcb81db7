/** Cells as Zeek logs spell them, which tables share. */

const special = /[\u0000-\u001f\u007f\\]/g;
/** Control characters, backslashes and what the format's own marks are spelled with, escaped. */
export const escapedText = (text: string, inContainer: boolean): string => {
  if (text === '-') return '\\x2d';
  if (text === '(empty)') return '\\x28empty)';
  const out = text.replace(special, (c) =>
    c === '\\' ? '\\\\' : `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return inContainer ? out.replaceAll(',', '\\x2c') : out;
};

/** Seconds with six decimals, nine where they are needed. */
export const secondsText = (nanos: number | bigint): string => {
  const x = BigInt(nanos);
  const size = x < 0n ? -x : x;
  const fraction = String(size % 1_000_000_000n).padStart(9, '0');
  return `${x < 0n ? '-' : ''}${size / 1_000_000_000n}.${fraction.endsWith('000') ? fraction.slice(0, 6) : fraction}`;
};
