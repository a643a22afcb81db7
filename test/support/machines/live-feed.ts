/** What can be seen of the events feed from outside, with a chart that is given. */
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { EventFeed, type EventStream } from '../../../src/http/events.ts';
import type { ServiceCharts } from '../../../src/http/server.ts';
import type { Lake, LakeEvent } from '../../../src/lake/lake.types.ts';

/** A connection that takes what it is told to take. */
class Connection extends EventEmitter implements EventStream {
  destroyed = false;
  ended = false;
  takes = Infinity;
  text = '';
  writeHead(): void {}
  flushHeaders(): void {}
  write(bytes: Uint8Array | string): boolean {
    this.text += Buffer.from(bytes as Uint8Array).toString();
    return --this.takes > 0;
  }
  end(): void {
    this.ended = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
  get seen(): string {
    const ids = [...this.text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    // Short where none is left out.
    const whole = ids.length > 2 && ids.every((id, i) => id === ids[0]! + i);
    return `${whole ? `${ids[0]} to ${ids.at(-1)}` : ids.join(' ')}${this.ended ? ', ended' : ''}${this.destroyed ? ', cut off' : ''}`;
  }
}

/** A lake that tells of events and keeps the newest of them. */
class Events {
  keptMax = Infinity;
  private readonly events: LakeEvent[] = [];
  private listener: (event: LakeEvent) => void = () => undefined;
  onEvent(listener: (event: LakeEvent) => void): () => void {
    this.listener = listener;
    return () => undefined;
  }
  lastEventId(): number {
    return this.events.length;
  }
  eventsSince(id: number, limit = Infinity): readonly LakeEvent[] | undefined {
    return id < this.events.length - this.keptMax ? undefined : this.events.slice(id, id + limit);
  }
  tell(): void {
    const event: LakeEvent = { id: this.events.length + 1, kind: 'pool-new', poolId: 'a'.repeat(40) };
    this.events.push(event);
    this.listener(event);
  }
}

/** Plays subscribers that read, stall, come back, leave, and the end of the service. */
export const seenOfFeed = async (charts: ServiceCharts): Promise<readonly string[]> => {
  const seen: string[] = [];
  const lake = new Events();
  const feed = new EventFeed(lake as unknown as Lake, {
    subscribersMax: 20,
    waitingMax: 3,
    heartbeatMs: 0,
    charts,
  });
  const subscribe = (lastEventId?: string, takes = Infinity): Connection => {
    const connection = new Connection();
    connection.takes = takes;
    feed.subscribe({
      response: connection,
      headers: {},
      format: 'json',
      names: 'interface',
      ...(lastEventId !== undefined && { lastEventId }),
    });
    return connection;
  };
  const tell = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      lake.tell();
      await nextTurn();
    }
  };
  const all: Record<string, Connection> = {};
  const look = (when: string): void => {
    for (const [name, connection] of Object.entries(all)) seen.push(`${when}: ${name}: ${connection.seen}`);
    seen.push(`${when}: ${feed.size} subscribers, ${JSON.stringify(feed.figures())}`);
  };
  all['reads'] = subscribe();
  all['stalls'] = subscribe(undefined, 1);
  all['recovers'] = subscribe(undefined, 1);
  all['leaves'] = subscribe();
  await tell(3);
  look('three events');
  all['recovers'].takes = 2;
  all['recovers'].emit('drain');
  look('half drained');
  all['recovers'].takes = Infinity;
  all['recovers'].emit('drain');
  all['leaves'].emit('close');
  await tell(4);
  look('more events');
  all['comes back'] = subscribe('2');
  all['comes back slowly'] = subscribe('2', 1);
  all['comes back too late'] = subscribe('2', 1);
  await tell(1);
  look('come back');
  all['comes back slowly'].takes = Infinity;
  all['comes back slowly'].emit('drain');
  await tell(66);
  look('caught up');
  lake.keptMax = 1;
  all['comes back too late'].emit('drain');
  all['leaves early'] = subscribe(undefined, 1);
  await tell(2);
  all['leaves early'].emit('close');
  look('too late');
  feed.close();
  look('closed');
  return seen;
};
