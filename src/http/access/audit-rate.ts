/**
 * The audit log's lines of refused strangers, at a bounded rate: whoever likes can be refused thousands of times a
 * second, and must not fill the disk with it.
 *
 * - Lines of those who are known, and of changes, are all written.
 * - Beyond the rate strangers are counted: a line a second says how many there were. No refusal is in neither.
 */
import type { AuditEntry } from './audit.ts';
import { type Clock, systemClock } from './tokens.ts';

/** Refusals without a line of their own: `count` of them from `since` to `time`, which all lacked the same. */
interface AuditSummary extends Required<Pick<AuditEntry, 'time' | 'refused'>> {
  readonly since: string;
  readonly count: number;
}
export type AuditLine = AuditEntry | AuditSummary;

/** Lines of refused strangers: so many at once, and so many a second when these are used up. */
const linesAtOnce = 1000;
const linesPerSecond = 100;
/** Time between two lines that count the others. */
const summaryMs = 1000;

/** `close` writes what was counted. */
export interface AuditRate {
  readonly write: (entry: AuditEntry) => void;
  readonly close: () => void;
}

export const limitRefusals = (write: (line: AuditLine) => void, clock: Clock = systemClock): AuditRate => {
  const counted = new Map<Required<AuditEntry>['refused'], { readonly since: string; count: number }>();
  let allowed = linesAtOnce;
  let at = clock.elapsedMs();
  let timer: NodeJS.Timeout | undefined;

  const takes = (): boolean => {
    const now = clock.elapsedMs();
    allowed = Math.min(linesAtOnce, allowed + ((now - at) / 1000) * linesPerSecond);
    at = now;
    if (allowed < 1) return false;
    allowed--;
    return true;
  };
  const summarize = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const time = new Date(clock.wallMs()).toISOString();
    for (const [refused, { since, count }] of counted) write({ time, since, refused, count });
    counted.clear();
  };
  return {
    write: (entry) => {
      const { refused, who, time } = entry;
      if (refused === undefined || who !== undefined || takes()) return write(entry);
      const sum = counted.get(refused);
      if (sum) sum.count++;
      else counted.set(refused, { since: time, count: 1 });
      timer ??= setTimeout(summarize, summaryMs).unref();
    },
    close: summarize,
  };
};
