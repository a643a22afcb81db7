/** Small numbers as runs and as packed bits. */

/** Numbers [start, end) of `width` bits, at most 24, as runs and packed groups of eight. */
export const hybrid = (values: Uint8Array | Uint32Array, start: number, end: number, width: number): Uint8Array => {
  const valueBytes = (width + 7) >> 3;
  const out = new Uint8Array(16 + Math.ceil((end - start) / 8) * (width + 6));
  let to = 0;
  let at = start;
  const varint = (n: number): void => {
    let rest = n;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) out[to++] = (rest % 0x80) | 0x80;
    out[to++] = rest;
  };
  while (at < end) {
    const run = runLength(values, at, end);
    if (run >= 8 || run === end - at) {
      varint(run * 2);
      for (let k = 0; k < valueBytes; k++) out[to++] = values[at] >>> (k * 8);
      at += run;
      continue;
    }
    const stop = runStart(values, at + 8, end);
    varint(((stop - at) / 8) * 2 + 1);
    packInto(values, at, Math.min(stop, end), width, out, to);
    to += ((stop - at) / 8) * width;
    at = Math.min(stop, end);
  }
  return out.subarray(0, to);
};
const runLength = (values: Uint8Array | Uint32Array, start: number, end: number): number => {
  const value = values[start];
  let at = start + 1;
  while (at < end && values[at] === value) at++;
  return at - start;
};
/** Where, in steps of eight, the next eight are all the same; or the first step that is not before the end. */
const runStart = (values: Uint8Array | Uint32Array, start: number, end: number): number => {
  let at = start;
  for (; at + 8 <= end; at += 8) {
    const value = values[at];
    if (
      values[at + 1] === value &&
      values[at + 2] === value &&
      values[at + 3] === value &&
      values[at + 4] === value &&
      values[at + 5] === value &&
      values[at + 6] === value &&
      values[at + 7] === value
    )
      return at;
  }
  return at < end ? at + 8 : at;
};
/** Low bits first. */
const packInto = (
  values: Uint8Array | Uint32Array,
  start: number,
  end: number,
  width: number,
  out: Uint8Array,
  place: number,
): void => {
  let i = start;
  let to = place;
  if (width === 1)
    for (; i + 8 <= end; i += 8)
      out[to++] =
        values[i] |
        (values[i + 1] << 1) |
        (values[i + 2] << 2) |
        (values[i + 3] << 3) |
        (values[i + 4] << 4) |
        (values[i + 5] << 5) |
        (values[i + 6] << 6) |
        (values[i + 7] << 7);
  let held = 0;
  let bits = 0;
  for (; i < end; i++) {
    held |= values[i] << bits;
    bits += width;
    while (bits >= 8) {
      out[to++] = held;
      held >>>= 8;
      bits -= 8;
    }
  }
  if (bits > 0) out[to] = held;
};
