/** Words of SUP text that are values: numbers, times, durations, addresses, bytes, true, false and null. */
import { types } from '../type.ts';
import { type Value, nullValue } from '../value.ts';
import {
  fitsInt64,
  parseBytes,
  parseDuration,
  parseFloat64,
  parseInteger,
  parseIp,
  parseNet,
  parseTime,
  uint64Max,
} from '../literal.ts';
import { SupError } from './error.ts';

/** A value without quotes: the kinds are tried in the order of sup.md section 1. */
export const wordValue = (text: string): Value | undefined => {
  if (text.endsWith('Z')) {
    const time = parseTime(text);
    if (time !== undefined) return timeValue(text, time);
  }
  switch (text) {
    case 'true':
      return { type: types.bool, data: true };
    case 'false':
      return { type: types.bool, data: false };
    case 'null':
      return nullValue;
  }
  const whole = parseInteger(text);
  if (whole !== undefined) return wholeNumber(whole);
  const float = parseFloat64(text);
  if (float !== undefined) return { type: types.float64, data: float };
  const c = text.charCodeAt(0);
  const digit = c >= 0x30 && c <= 0x39;
  if (digit) {
    const time = parseTime(text);
    if (time !== undefined) return timeValue(text, time);
  }
  if (digit || c === 0x2d || c === 0x2e) {
    const duration = parseDuration(text);
    if (duration !== undefined) return { type: types.duration, data: duration };
  }
  const net = parseNet(text);
  if (net) return { type: types.net, data: net };
  const ip = parseIp(text);
  if (ip) return { type: types.ip, data: ip };
  const bytes = parseBytes(text);
  return bytes && { type: types.bytes, data: bytes };
};
const wholeNumber = (x: number | bigint): Value | undefined => {
  if (fitsInt64(x)) return { type: types.int64, data: x };
  if (x > 0 && x <= uint64Max) return { type: types.uint64, data: x };
  const float = Number(x);
  return Number.isFinite(float) ? { type: types.float64, data: float } : undefined;
};
const timeValue = (text: string, nanos: number | bigint): Value => {
  if (!fitsInt64(nanos))
    throw new SupError(
      nanos > 0
        ? `time overflow: ${text} (max: 2262-04-11T23:47:16Z)`
        : `time underflow: ${text} (min: 1677-09-21T00:12:44Z)`,
    );
  return { type: types.time, data: nanos };
};
