/**
 * Records that cannot be read: what becomes of them where a load is not to fail by them.
 *
 * Invariant: what is faulty is what the same reader would refuse; an input without a fault reads the same under every
 * rule.
 */
import { LakeError } from '../../errors.ts';
import { shapeOf } from '../../vectors/builder.ts';
import type { Batches } from '../batches.ts';
import { appendText } from '../text-cell.ts';

/** Left out, or kept as error values in their place. */
export type FaultRule = 'skip' | 'wrap';

/** A record that cannot be read. */
export interface FaultyRecord {
  /** Where it begins. */
  readonly line: number;
  readonly column: number;
  /** What the reader would have refused the input with. */
  readonly error: string;
  /** Its bytes, without the line break at their end. */
  readonly raw: Uint8Array;
}

/** What a reader is told of records that it cannot read. */
export interface FaultOptions {
  /** They are left out or become error values. Default: the first one ends the input. */
  readonly errors?: FaultRule;
  /**
   * Told of each of them. A batch, which may be empty, is given out before many have gathered. Default: nobody is told.
   */
  readonly faulty?: (record: FaultyRecord) => void;
}

/** Bytes of faulty records, and of what is told of each, after which a batch is given out, be it empty. */
const pendingBytesMax = 1 << 20;
const recordBytes = 256;

const wrapped = shapeOf([{ name: 'message' }, { name: 'on' }]);

/** The faulty records of one input, as its reader finds them. */
export class Faults {
  private readonly rule: FaultRule;
  private readonly tell: (record: FaultyRecord) => void;
  private pendingBytes = 0;
  private hasAny = false;
  private constructor(rule: FaultRule, tell: (record: FaultyRecord) => void) {
    this.rule = rule;
    this.tell = tell;
  }

  /** Undefined: the first one ends the input. */
  static of({ errors, faulty = () => undefined }: FaultOptions): Faults | undefined {
    return errors && new Faults(errors, faulty);
  }

  /** Whether there was one. */
  get isAny(): boolean {
    return this.hasAny;
  }

  /** Takes one; its error value, if it gets one, is the next of the batches. */
  take(record: FaultyRecord, batches: Batches): void {
    this.hasAny = true;
    this.pendingBytes += record.raw.length + recordBytes;
    this.tell(record);
    if (this.rule === 'skip') return;
    const into = batches.begin().error().record(wrapped);
    into.fields[0].text(record.error);
    appendText(into.fields[1], record.raw, 0, record.raw.length);
    into.end();
    batches.end(record.raw.length + record.error.length);
  }

  /** Whether a batch is to be given out, so that who reads can put the faulty records away. */
  isDue(): boolean {
    if (this.pendingBytes < pendingBytesMax) return false;
    this.pendingBytes = 0;
    return true;
  }
}

/** Whether a problem of a reader is one record's; what a header lacks all records lack. */
export const isRecordFault = (problem: unknown): problem is LakeError =>
  problem instanceof LakeError && problem.code === 'format-broken' && problem.parameters['of'] !== 'header';

/** Whether a record is longer than it may be. */
export const isOverlong = (problem: unknown): problem is LakeError =>
  problem instanceof LakeError && problem.code === 'format-limit';

/** The text of a fault without the format's name. */
export const faultText = ({ parameters, message }: LakeError): string =>
  message.slice(`${String(parameters['format'])}: `.length);

/** bytes[start, end) without a carriage return at the end, as a copy. */
export const rawBytes = (bytes: Uint8Array, start: number, end: number): Uint8Array =>
  bytes.slice(start, end > start && bytes[end - 1] === 0x0d ? end - 1 : end);
