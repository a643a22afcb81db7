/**
 * Reading one's own writes wherever they are read: an answer tells in `Lake-Event` up to which event it knows, and a
 * request that names one in `Lake-After` is answered by a service that knows it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { LakeError } from '../errors.ts';
import type { Lake } from '../lake/lake.types.ts';

export const eventHeader = 'lake-event';
const afterHeader = 'lake-after';
const numberPattern = /^\d{1,15}$/;

/**
 * Resolves when the lake knows of the event that a request names, at once where it names none. @throws event-invalid,
 * event-late
 */
export const waitForEvent = async (
  lake: Pick<Lake, 'lastEventId' | 'onEvent'>,
  headers: IncomingHttpHeaders,
  msMax: number,
): Promise<void> => {
  const text = headers[afterHeader];
  if (text === undefined) return;
  const value = String(text);
  if (!numberPattern.test(value)) throw new LakeError('event-invalid', { value });
  const after = Number(value);
  if (lake.lastEventId() >= after || (await comes(lake, after, msMax))) return;
  throw new LakeError('event-late', { after, last: lake.lastEventId(), seconds: msMax / 1000 });
};

const comes = (lake: Pick<Lake, 'lastEventId' | 'onEvent'>, after: number, msMax: number): Promise<boolean> =>
  new Promise((resolve) => {
    const end = (isThere: boolean): void => {
      clearTimeout(timer);
      unlisten();
      resolve(isThere);
    };
    const timer = setTimeout(end, msMax, false);
    const unlisten = lake.onEvent(({ id }) => {
      if (id >= after) end(true);
    });
  });
