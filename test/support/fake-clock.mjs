/**
 * For `node --import`: the wall clock of the process and its worker threads shows what is in the file LAKE_FAKE_CLOCK,
 * milliseconds since 1970, and goes on from there. A file that is written again makes it jump. Monotonic clocks
 * (`performance.now`, timers) stay as they are, as when somebody sets the clock of a machine.
 */
import { readFileSync, statSync } from 'node:fs';

const file = process.env.LAKE_FAKE_CLOCK;
const RealDate = Date;
const monotonic = performance;
let written = -1;
let startMs = 0;
let setAt = 0;
const now = () => {
  const { mtimeMs } = statSync(file);
  if (mtimeMs !== written) {
    written = mtimeMs;
    startMs = Number(readFileSync(file, 'utf8'));
    setAt = monotonic.now();
  }
  return Math.floor(startMs + monotonic.now() - setAt);
};
if (file) {
  globalThis.Date = class Date extends RealDate {
    constructor(...given) {
      super(...(given.length === 0 ? [now()] : given));
    }
    static now() {
      return now();
    }
  };
}
