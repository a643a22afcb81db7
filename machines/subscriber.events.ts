/**
 * What happens to one subscriber of the events feed. Plain JSON: the bytes themselves wait with the host, in the order
 * of these events.
 */
export type SubscriberEvent =
  /** The lake changed: one more event for this subscriber. */
  | { readonly type: 'event came'; readonly id: number }
  /**
   * There are older events that it has not got: the host reads them from the log, and the ones that come meanwhile too.
   */
  | { readonly type: 'fell behind' }
  /** It got all that there is. */
  | { readonly type: 'caught up' }
  /** What it has not got is no longer in the log. */
  | { readonly type: 'log ended' }
  /** The connection takes no more for now. */
  | { readonly type: 'connection full' }
  /** The connection took `taken` of the waiting events; `full`: and takes no more. */
  | { readonly type: 'connection drained'; readonly taken: number; readonly full: boolean }
  | { readonly type: 'client left' }
  | { readonly type: 'service closing' };

/** What the machine tells its host. */
export type SubscriberEmitted =
  /** Write the newest event to the connection. */
  | { readonly type: 'write'; readonly id: number }
  /** End the connection. */
  | { readonly type: 'end'; readonly reason: SubscriberEnd };

/**
 * Why a subscriber is closed. `too slow`: one event more than may wait, or what it has not got is no longer in the log.
 */
export type SubscriberEnd = 'too slow' | 'client left' | 'service closing';

/** How far the connection is behind. */
export interface SubscriberContext {
  /** Events that wait for the connection. */
  readonly waiting: number;
  /** Most events that may wait; one more closes the subscriber. */
  readonly waitingMax: number;
  /** Id of the newest event that came. */
  readonly lastId: number;
  /** Why it is closed; absent while it is not. */
  readonly end?: SubscriberEnd;
}
