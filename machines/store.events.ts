/**
 * What enters the machine of a lake in a bucket. Plain JSON: tips, segments and errors stay with the host
 * (src/lake/store/role.ts).
 */

/** What of the bucket cannot be reached: the log's segments, or the writer's own sign of life. */
export type StoreSubject = 'log' | 'lease';

/** What the host has seen in the bucket or was asked for. */
export type StoreEvent =
  /** A replica's tables are there, with what the bucket had when they were made. */
  | { readonly type: 'folder ready' }
  /** This service's fence is the newest segment: nobody else writes. */
  | { readonly type: 'fence put' }
  | { readonly type: 'promote asked' }
  /** Its lease was ended, or was not renewed for too long. */
  | { readonly type: 'writer gone' }
  /** Another one's fence came before this one's. */
  | { readonly type: 'overtaken' }
  /** A segment is missing or damaged: no fence can be put behind it. */
  | { readonly type: 'log broken' }
  /** The lake's own log begins behind the fence. */
  | { readonly type: 'leads' }
  /** Another one's segment is where the next one would be. */
  | { readonly type: 'segment refused'; readonly text: string }
  /** It is to be started again. */
  | { readonly type: 'cannot go on'; readonly text: string }
  | { readonly type: 'bucket away'; readonly subject: StoreSubject; readonly text: string }
  | { readonly type: 'bucket answered'; readonly subject: StoreSubject }
  | { readonly type: 'closed' };

/** `isStandby`: it may take over. */
export interface StoreInput {
  readonly isStandby: boolean;
}
export interface StoreContext extends StoreInput {
  /** Somebody waits for it to take over, whether the writer lives or not. */
  readonly isAsked: boolean;
  /** Why it is fenced, or cannot go on; null while it does. */
  readonly reason: string | null;
  /** The last fault of the log and of the lease, until it was reached again. */
  readonly logFault: string | null;
  readonly leaseFault: string | null;
}
/** The field of the context that has a subject's fault. */
export const faultOf = (subject: StoreSubject): 'logFault' | 'leaseFault' => `${subject}Fault`;
