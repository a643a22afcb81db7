/** What is counted of syslog. */
export interface SyslogFigures {
  readonly received: Record<'tcp' | 'udp', number>;
  /** Messages by why they were not kept. */
  readonly dropped: Record<DropReason, number>;
  readonly batches: Record<'committed' | 'again' | 'refused', number>;
  connections: number;
  /** Connections that were closed at once, since there were as many as may be. */
  refusedConnections: number;
  waitingBytes: () => number;
}
/**
 * `long`: longer than allowed; `cut`: its connection ended within it; `full`: no room for a datagram; `refused`: its
 * batch was refused for good; `closing`: the service ended before it could be committed.
 */
export type DropReason = 'long' | 'cut' | 'full' | 'refused' | 'closing';

/** Nothing was counted yet. */
export const newFigures = (): SyslogFigures => ({
  received: { tcp: 0, udp: 0 },
  dropped: { long: 0, cut: 0, full: 0, refused: 0, closing: 0 },
  batches: { committed: 0, again: 0, refused: 0 },
  connections: 0,
  refusedConnections: 0,
  waitingBytes: () => 0,
});
