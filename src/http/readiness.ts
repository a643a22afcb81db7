/** What health checks and figures are told: whether work is taken, and why not. Everybody may ask: no pool is named. */
import type { Lake } from '../lake/lake.types.ts';

/** What is asked of a service. */
interface AskedService {
  readonly lake: Lake;
  /** Whether it is on its way out. */
  readonly closing: () => boolean;
}

/** Why writes are refused by a lake that is there; undefined: they are not. Of a replica: none are meant for it. */
export const whyNoWrites = (lake: Pick<Lake, 'status' | 'full' | 'figures'>): string | undefined => {
  const { state, reason } = lake.status();
  if (state !== 'ready') return `${state}${reason ? `: ${reason}` : ''}`;
  return lake.full() ?? whyNotStored(lake);
};
const whyNotStored = (lake: Pick<Lake, 'figures'>): string | undefined => {
  const { store } = lake.figures();
  if (store?.fenced !== undefined) return store.fenced;
  return store?.refusing === undefined
    ? undefined
    : `no writes until the bucket is back (-store.ack bucket), queries are answered: ${store.refusing}`;
};

/** Why no work should be sent here; undefined: it may be. */
export const whyNotReady = ({ lake, closing }: AskedService): string | undefined => {
  const { state } = lake.status();
  if (state !== 'ready' || closing()) return state === 'failed' ? 'failed' : 'closing';
  const why = whyNotStored(lake) ?? lake.figures().follow?.ended;
  if (why !== undefined) return why;
  const { length } = lake.unreadable();
  return length === 0
    ? undefined
    : `${length} ${length === 1 ? 'pool' : 'pools'} cannot be read: the log says why, lake fsck -repair mends`;
};

/** How one is that work may be sent to. */
export const readyText = ({ lake }: Pick<AskedService, 'lake'>): string => {
  const { store, follow } = lake.figures();
  if (follow) {
    const seconds = (follow.behindMs / 1000).toFixed(1);
    const fault = follow.fault === undefined ? '' : `: ${follow.fault}`;
    const what = follow.state === 'promoting' ? 'takes over' : 'a replica of';
    return `ready; ${what} ${follow.store}, at segment ${follow.segment}, which was all ${seconds} s ago${fault}; ${follow.writer} is the writer`;
  }
  if (!store) return 'ready';
  const seconds = (store.behindMs / 1000).toFixed(1);
  return `ready; the bucket is ${store.behindRecords} records and ${seconds} s behind${store.fault === undefined ? '' : `: ${store.fault}`}`;
};
