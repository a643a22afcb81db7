/**
 * Figures of the service in the text format of Prometheus. One registry a server: tests run several in a process.
 *
 * - Names, units and kinds by Prometheus' conventions: base units, `_total` for what only grows. Figures that others
 *   count already are read when somebody asks.
 * - Labels are of a few values: routes are patterns, never paths; of pools the first `metricsPoolsMax` are told apart.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import type { IcebergCatalogue } from '../iceberg/catalogue.types.ts';
import type { Lake } from '../lake/lake.types.ts';
import { diskTotals } from '../lake/objects/objects.ts';
import { storeStates } from '../lake/store/role.ts';
import type { FollowFigures, StoreFigures } from '../lake/store/store.types.ts';
import type { WorkerPool } from '../workers/pool.types.ts';
import { onConnection } from './connections/http2.ts';
import type { EventFeed } from './events.ts';
import { type Spread, Spreads, type Tally, Tallies } from './figures.ts';
import { whyNoWrites } from './readiness.ts';
import type { Runs } from './runs.ts';
import type { StagedLoads } from './staged.ts';
import type { SyslogFigures } from './syslog/figures.ts';

/** The figures of one server. */
export interface Metrics {
  /** Counts one answered request; `route` is the pattern, never the path, so that names do not become labels. */
  readonly answered: (
    labels: { readonly method: string; readonly route: string; readonly status: number },
    seconds: number,
  ) => void;
  /** All figures, read at this moment. */
  readonly text: () => Promise<string>;
  readonly contentType: string;
  /**
   * Counts the bytes of a server's connections; `cuts` are those that were cut, by reason.
   */
  readonly watch: (server: Server, cuts: Readonly<Record<string, number>>) => void;
  /** Counts what comes by syslog. */
  readonly watchSyslog: (figures: SyslogFigures) => void;
  readonly close: () => void;
}
/** Where figures are read that others keep. */
interface MetricsSources {
  readonly lake: Lake;
  readonly catalogue: Pick<IcebergCatalogue, 'wrongFiles'>;
  readonly workers: WorkerPool;
  readonly feed: EventFeed;
  readonly runs: Runs;
  readonly staged: Pick<StagedLoads, 'size' | 'bytes'>;
  readonly version: string;
  /** Pools that have a label of their own. */
  readonly poolsMax: number;
}

interface Row {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}
type Labels = Readonly<Record<string, string | number>>;
type Sample = readonly [value: number, labels?: Labels];

/** Starts collecting. */
export const startMetrics = (sources: MetricsSources): Metrics => {
  const registry = new Registry();
  const { lake } = sources;
  collectDefaultMetrics({ register: registry });
  // Sums that can fall: a name that ends so is of a counter. Those of each kind remain.
  for (const name of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${name}_total`);
  const answered = countRequests(registry);
  const unhear = countJobs(registry, lake);
  countRuns(registry, sources.runs);
  const traffic = new Traffic();
  for (const [name, read] of Object.entries(readings(sources, traffic)))
    (name.endsWith('_total') ? counter : gauge)(registry, name, read);
  const late = monitorEventLoopDelay({ resolution: tickMs });
  late.enable();
  lateness(registry, late);
  return {
    answered,
    text: () => registry.metrics(),
    contentType: registry.contentType,
    watch: (server, cuts) => {
      traffic.watch(server);
      counter(registry, 'lake_http_connections_cut_total', () =>
        Object.entries(cuts).map(([reason, count]) => [count, { reason }] as const),
      );
    },
    watchSyslog: (figures) => {
      const by = (label: string, counts: Readonly<Record<string, number>>) => (): Iterable<Sample> =>
        Object.entries(counts).map(([value, count]) => [count, { [label]: value }] as const);
      counter(registry, 'lake_syslog_messages_total', by('transport', figures.received));
      counter(registry, 'lake_syslog_dropped_total', by('reason', figures.dropped));
      counter(registry, 'lake_syslog_batches_total', by('outcome', figures.batches));
      gauge(registry, 'lake_syslog_connections', () => [[figures.connections]]);
      counter(registry, 'lake_syslog_connections_refused_total', () => [[figures.refusedConnections]]);
      gauge(registry, 'lake_syslog_waiting_bytes', () => [[figures.waitingBytes()]]);
    },
    close: () => {
      unhear();
      late.disable();
      registry.clear();
    },
  };
};

const jobBuckets = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** Our own metrics, for the manual; those of the process and of Node are prom-client's own. */
export const metricRows: readonly Row[] = [
  { name: 'lake_build_info', help: 'Always 1; the label is the version', labels: ['version'] },
  { name: 'lake_ready', help: '1 while writes are accepted, else 0' },
  { name: 'lake_http_requests_total', help: 'Requests answered', labels: ['method', 'route', 'status'] },
  {
    name: 'lake_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer',
    labels: ['method', 'route'],
  },
  { name: 'lake_http_received_bytes_total', help: 'Bytes received' },
  { name: 'lake_http_sent_bytes_total', help: 'Bytes sent' },
  { name: 'lake_http_connections', help: 'Open connections' },
  {
    name: 'lake_http_connections_cut_total',
    help: 'Connections closed by the service: full, at -connections.max; unread, because unread answers held too much memory',
    labels: ['reason'],
  },
  { name: 'lake_pools', help: 'Pools' },
  { name: 'lake_commits', help: 'Commits' },
  { name: 'lake_objects', help: 'Data objects, including unreferenced ones until they are vacuumed' },
  { name: 'lake_unreadable_pools', help: 'Pools known to have an unreadable branch' },
  {
    name: 'lake_clock_corrections_total',
    help: 'Ids derived from the previous one because the clock was behind or out of range',
  },
  { name: 'lake_ids_ahead_seconds', help: 'How far the latest id is ahead of the clock' },
  {
    name: 'lake_iceberg_wrong_files_total',
    help: 'Files of Iceberg tables found damaged or exchanged, and made again',
  },
  { name: 'lake_tables_bytes', help: 'Size of the LMDB file' },
  { name: 'lake_snapshot_cache_bytes', help: 'Bytes of the cached object lists' },
  { name: 'lake_snapshot_cache_lists', help: 'Cached object lists, one per commit' },
  {
    name: 'lake_pool_queue_jobs',
    help: 'Pending jobs of a pool; pool="" aggregates pools without their own label',
    labels: ['pool'],
  },
  {
    name: 'lake_jobs_total',
    help: 'Jobs completed: loads, merges, deletes and other changes of pools',
    labels: ['kind', 'outcome'],
  },
  { name: 'lake_job_wait_seconds', help: 'Time a job waited in the queue of its pool', labels: ['kind'] },
  {
    name: 'lake_job_work_seconds',
    help: 'Time from the start of a job until its transaction is durable',
    labels: ['kind'],
  },
  { name: 'lake_queries', help: 'Queries in progress', labels: ['state'] },
  { name: 'lake_queries_total', help: 'Queries finished', labels: ['outcome'] },
  { name: 'lake_query_records_read_total', help: 'Records read by queries' },
  { name: 'lake_query_read_bytes_total', help: 'Bytes of data objects read by queries' },
  { name: 'lake_query_records_sent_total', help: 'Records sent by queries' },
  { name: 'lake_queries_running', help: 'Queries active in a worker' },
  { name: 'lake_loads', help: 'Loads in progress', labels: ['state'] },
  { name: 'lake_loads_total', help: 'Loads finished', labels: ['outcome'] },
  { name: 'lake_load_records_total', help: 'Records of committed loads' },
  { name: 'lake_load_body_bytes_total', help: 'Body bytes of committed loads' },
  { name: 'lake_load_object_bytes_total', help: 'Bytes of data objects written by committed loads' },
  { name: 'lake_loads_running', help: 'Loads active in a worker or waiting for their body' },
  { name: 'lake_syslog_messages_total', help: 'Messages received by syslog (option -syslog)', labels: ['transport'] },
  {
    name: 'lake_syslog_dropped_total',
    help: 'Messages of syslog not kept: long, over -syslog.message.max; cut, by the end of the connection; full, a datagram while too many wait; refused, with their batch; closing, not committed before the end',
    labels: ['reason'],
  },
  {
    name: 'lake_syslog_batches_total',
    help: 'Batches of syslog: committed; again, a try that failed and is repeated; refused for good',
    labels: ['outcome'],
  },
  { name: 'lake_syslog_connections', help: 'Open connections of syslog' },
  {
    name: 'lake_syslog_connections_refused_total',
    help: 'Connections of syslog closed at once, since 1,000 were open',
  },
  { name: 'lake_syslog_waiting_bytes', help: 'Bytes of syslog messages waiting for their commit' },
  { name: 'lake_events_subscribers', help: 'Subscribers of /events' },
  { name: 'lake_events_lagging_subscribers', help: 'Subscribers with queued events' },
  { name: 'lake_events_dropped_subscribers_total', help: 'Subscribers disconnected because they were too slow' },
  { name: 'lake_events_sent_total', help: 'Events sent, counted per subscriber' },
  { name: 'lake_last_event_id', help: 'Id of the latest event' },
  {
    name: 'lake_store_state',
    help: '1 for what the service is to its bucket (following, promoting, writing, fenced, ended), else 0',
    labels: ['state'],
  },
  { name: 'lake_staged_loads', help: 'Staged loads that no transaction has committed yet' },
  { name: 'lake_staged_memory_bytes', help: 'Memory that the records of staged loads take; larger ones are on disk' },
  { name: 'lake_store_segment', help: 'Latest log segment in the bucket' },
  { name: 'lake_store_behind_records', help: 'Log records that are not in the bucket yet' },
  { name: 'lake_store_behind_seconds', help: 'Age of the oldest log record that is not in the bucket yet' },
  { name: 'lake_store_fenced', help: '1 when another service has taken over the bucket, else 0' },
  {
    name: 'lake_store_failing',
    help: '1 while nothing can be put into the bucket, else 0; with -store.ack bucket writes are refused meanwhile',
  },
  { name: 'lake_store_requests_total', help: 'Requests sent to the store by the main thread' },
  { name: 'lake_store_retries_total', help: 'Requests sent to the store again' },
  { name: 'lake_store_sent_bytes_total', help: 'Bytes put into the bucket' },
  { name: 'lake_follow_segment', help: 'Latest log segment that a replica has' },
  { name: 'lake_follow_behind_seconds', help: 'Time since a replica had all that the bucket had' },
  { name: 'lake_follow_failing', help: '1 while a replica cannot follow the bucket, else 0' },
  { name: 'lake_store_cache_bytes', help: 'Bytes of data objects on the local disk at the last look' },
  { name: 'lake_worker_threads', help: 'Worker threads' },
  { name: 'lake_workers_replaced_total', help: 'Worker threads replaced after they died' },
  { name: 'lake_worker_tasks', help: 'Active tasks of a worker', labels: ['worker'] },
  { name: 'lake_worker_busy_seconds_total', help: 'Busy time of a worker', labels: ['worker'] },
  {
    name: 'lake_worker_late_max_seconds',
    help: 'Maximum event loop lag of a worker since the last scrape',
    labels: ['worker'],
  },
  { name: 'lake_worker_heap_bytes', help: 'Used heap of a worker', labels: ['worker'] },
  { name: 'lake_worker_buffer_bytes', help: 'Buffers of a worker outside its heap', labels: ['worker'] },
  { name: 'lake_worker_parts_total', help: 'Parts of queries and loads taken over by another worker' },
  { name: 'lake_column_cache_hits_total', help: 'Decoded columns found in the cache' },
  { name: 'lake_column_cache_misses_total', help: 'Decoded columns not found in the cache' },
  { name: 'lake_column_cache_bytes', help: 'Bytes of cached decoded columns' },
  { name: 'lake_spilled_bytes_total', help: 'Bytes spilled to disk by sorts, groups, joins and loads' },
  { name: 'lake_object_syncs_total', help: 'Data objects synced to disk' },
  { name: 'lake_object_sync_seconds_total', help: 'Time spent syncing data objects' },
  { name: 'lake_main_thread_late_p50_seconds', help: 'Event loop lag of the main thread since the last scrape (p50)' },
  { name: 'lake_main_thread_late_p99_seconds', help: 'Event loop lag of the main thread since the last scrape (p99)' },
  { name: 'lake_main_thread_late_max_seconds', help: 'Event loop lag of the main thread since the last scrape (max)' },
];
const own = (name: string): { readonly name: string; readonly help: string; readonly labelNames: string[] } => {
  const row = metricRows.find((each) => each.name === name);
  if (!row) throw new Error(`no row for ${name}`);
  return { name, help: row.help, labelNames: [...(row.labels ?? [])] };
};

/** What is read when somebody asks. */
const readings = (
  { lake, catalogue, workers, feed, runs, staged, version, poolsMax }: MetricsSources,
  traffic: Traffic,
): Readonly<Record<string, () => Iterable<Sample>>> => {
  const one = (read: () => number) => (): Iterable<Sample> => [[read()]];
  const each = (read: (figures: ReturnType<WorkerPool['threads']>[number]) => number) => (): Iterable<Sample> =>
    workers.threads().map((thread) => [read(thread), { worker: thread.thread }] as const);
  const store = (read: (figures: StoreFigures) => number) => (): Iterable<Sample> => {
    const figures = lake.figures().store;
    return figures ? [[read(figures)]] : [];
  };
  const follow = (read: (figures: FollowFigures) => number) => (): Iterable<Sample> => {
    const figures = lake.figures().follow;
    return figures ? [[read(figures)]] : [];
  };
  const bucket =
    (read: (figures: Pick<FollowFigures, 'requests' | 'retries' | 'cachedBytes'>) => number) =>
    (): Iterable<Sample> => {
      const { store: own, follow: followed } = lake.figures();
      const figures = own ?? followed;
      return figures ? [[read(figures)]] : [];
    };
  const disk = (
    read: (totals: { readonly syncs: number; readonly syncMs: number; readonly scratchBytes: number }) => number,
  ) => one(() => workers.threads().reduce((sum, thread) => sum + read(thread), read(diskTotals)));
  return {
    lake_build_info: () => [[1, { version }]],
    lake_ready: one(() => (whyNoWrites(lake) === undefined ? 1 : 0)),
    lake_http_received_bytes_total: one(() => traffic.bytes('bytesRead')),
    lake_http_sent_bytes_total: one(() => traffic.bytes('bytesWritten')),
    lake_http_connections: one(() => traffic.open),
    lake_pools: one(() => lake.pools().length),
    lake_commits: one(() => lake.figures().commits),
    lake_objects: one(() => lake.figures().objects),
    lake_unreadable_pools: one(() => lake.unreadable().length),
    lake_clock_corrections_total: one(() => lake.figures().clockCorrections),
    lake_ids_ahead_seconds: one(() => lake.figures().idsAheadSeconds),
    lake_iceberg_wrong_files_total: one(() => catalogue.wrongFiles()),
    lake_tables_bytes: one(() => lake.figures().tableBytes),
    lake_snapshot_cache_bytes: one(() => lake.figures().snapshotBytes),
    lake_snapshot_cache_lists: one(() => lake.figures().snapshots),
    lake_pool_queue_jobs: () => queueSamples(lake, poolsMax),
    lake_queries: () => [...runs.states().queries].map(([state, count]) => [count, { state }] as const),
    lake_queries_running: one(() => workers.status().queriesRunning),
    lake_loads: () => [...runs.states().loads].map(([state, count]) => [count, { state }] as const),
    lake_loads_running: one(() => workers.status().loadsRunning),
    lake_events_subscribers: one(() => feed.size),
    lake_events_lagging_subscribers: one(() => feed.figures().lagging),
    lake_events_dropped_subscribers_total: one(() => feed.figures().dropped),
    lake_events_sent_total: one(() => feed.figures().sent),
    lake_last_event_id: one(() => lake.lastEventId()),
    lake_store_state: () => {
      const { store: own, follow: followed } = lake.figures();
      const state = (own ?? followed)?.state;
      return state === undefined ? [] : storeStates.map((each) => [each === state ? 1 : 0, { state: each }] as const);
    },
    lake_staged_loads: one(() => staged.size),
    lake_staged_memory_bytes: one(() => staged.bytes),
    lake_store_segment: store(({ segment }) => segment),
    lake_store_behind_records: store(({ behindRecords }) => behindRecords),
    lake_store_behind_seconds: store(({ behindMs }) => behindMs / 1000),
    lake_store_fenced: store(({ fenced }) => (fenced === undefined ? 0 : 1)),
    lake_store_failing: store(({ fault }) => (fault === undefined ? 0 : 1)),
    lake_follow_segment: follow(({ segment }) => segment),
    lake_follow_behind_seconds: follow(({ behindMs }) => behindMs / 1000),
    lake_follow_failing: follow(({ fault }) => (fault === undefined ? 0 : 1)),
    lake_store_requests_total: bucket(({ requests }) => requests),
    lake_store_retries_total: bucket(({ retries }) => retries),
    lake_store_sent_bytes_total: store(({ sentBytes }) => sentBytes),
    lake_store_cache_bytes: bucket(({ cachedBytes }) => cachedBytes),
    lake_worker_threads: one(() => workers.status().threads),
    lake_workers_replaced_total: one(() => workers.status().replaced),
    lake_worker_tasks: each(({ tasks }) => tasks),
    lake_worker_busy_seconds_total: each(({ busyMs }) => busyMs / 1000),
    lake_worker_heap_bytes: each(({ heapBytes }) => heapBytes),
    lake_worker_buffer_bytes: each(({ bufferBytes }) => bufferBytes),
    lake_worker_parts_total: one(() => workers.status().parts),
    lake_column_cache_hits_total: one(() => workers.status().columns.found),
    lake_column_cache_misses_total: one(() => workers.status().columns.missed),
    lake_column_cache_bytes: one(() => workers.status().columns.bytes),
    lake_spilled_bytes_total: disk(({ scratchBytes }) => scratchBytes),
    lake_object_syncs_total: disk(({ syncs }) => syncs),
    lake_object_sync_seconds_total: disk(({ syncMs }) => syncMs / 1000),
    lake_worker_late_max_seconds: () => {
      const samples = [...each(({ lateMs }) => lateMs / 1000)()];
      workers.forgetLate();
      return samples;
    },
  };
};

/** Pools in the order in which they were made; the sum of those beyond the limit has no name. */
const queueSamples = (lake: Lake, poolsMax: number): Iterable<Sample> => {
  const waiting = new Map(lake.queues().map(({ pool, waiting: jobs }) => [pool, jobs] as const));
  const names = lake.pools().map(({ name }) => name);
  const told = names.slice(0, poolsMax);
  const samples: Sample[] = told.map((pool) => [waiting.get(pool) ?? 0, { pool }]);
  if (names.length > poolsMax)
    samples.push([names.slice(poolsMax).reduce((sum, name) => sum + (waiting.get(name) ?? 0), 0), { pool: '' }]);
  return samples;
};

/** The row of a key, made when it is asked for the first time. */
const rowOf = <K, V>(rows: Map<K, V>, key: K, make: (key: K) => V): V => {
  const found = rows.get(key);
  if (found !== undefined) return found;
  const row = make(key);
  rows.set(key, row);
  return row;
};
const tallies = (registry: Registry, name: string): Tallies => new Tallies({ ...own(name), registers: [registry] });
const spreads = (registry: Registry, name: string, buckets: readonly number[]): Spreads =>
  new Spreads({ ...own(name), buckets: [...buckets], registers: [registry] });
/** The tally of each value of the only label. */
const talliesBy = (registry: Registry, name: string, label: string): ((value: string) => Tally) => {
  const all = tallies(registry, name);
  const rows = new Map<string, Tally>();
  return (value) => rowOf(rows, value, () => all.of({ [label]: value }));
};
const total = (registry: Registry, name: string): Tally => tallies(registry, name).of({});

const countRequests = (registry: Registry): Metrics['answered'] => {
  interface Row {
    readonly seconds: Spread;
    readonly byStatus: Map<number, Tally>;
  }
  const requests = tallies(registry, 'lake_http_requests_total');
  const seconds = spreads(
    registry,
    'lake_http_request_duration_seconds',
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60],
  );
  const byRoute = new Map<string, Map<string, Row>>();
  return ({ method, route, status }, took) => {
    const row = rowOf(
      rowOf(byRoute, route, () => new Map<string, Row>()),
      method,
      () => ({ seconds: seconds.of({ method, route }), byStatus: new Map() }),
    );
    rowOf(row.byStatus, status, () => requests.of({ method, route, status })).value++;
    row.seconds.observe(took);
  };
};

/** Counts jobs when they are over; what it gives ends that. */
const countJobs = (registry: Registry, lake: Lake): (() => void) => {
  interface Row {
    readonly done: Tally;
    readonly failed: Tally;
    readonly wait: Spread;
    readonly work: Spread;
  }
  const waits = spreads(registry, 'lake_job_wait_seconds', jobBuckets);
  const works = spreads(registry, 'lake_job_work_seconds', jobBuckets);
  const jobs = tallies(registry, 'lake_jobs_total');
  const rows = new Map<string, Row>();
  return lake.onJob(({ kind, isDone, askedAt, beganAt, endedAt }) => {
    const row = rowOf(rows, kind, () => ({
      done: jobs.of({ kind, outcome: 'done' }),
      failed: jobs.of({ kind, outcome: 'failed' }),
      wait: waits.of({ kind }),
      work: works.of({ kind }),
    }));
    (isDone ? row.done : row.failed).value++;
    row.wait.observe(Math.max(0, beganAt - askedAt) / 1000);
    row.work.observe(Math.max(0, endedAt - beganAt) / 1000);
  });
};

/** Counts queries and loads when they have ended. */
const countRuns = (registry: Registry, runs: Runs): void => {
  const of = (name: string): Tally => total(registry, name);
  const queries = talliesBy(registry, 'lake_queries_total', 'outcome');
  const read = of('lake_query_records_read_total');
  const readBytes = of('lake_query_read_bytes_total');
  const sent = of('lake_query_records_sent_total');
  const loads = talliesBy(registry, 'lake_loads_total', 'outcome');
  const records = of('lake_load_records_total');
  const bodyBytes = of('lake_load_body_bytes_total');
  const objectBytes = of('lake_load_object_bytes_total');
  runs.hear({
    query: ({ state, watch }) => {
      const counts = watch.counts();
      queries(state).value++;
      read.value += counts.recordsRead;
      readBytes.value += counts.bytesRead;
      sent.value += counts.recordsSent;
    },
    load: ({ state, watch }) => {
      loads(state).value++;
      if (state !== 'committed') return;
      records.value += watch.records;
      bodyBytes.value += watch.bodyBytes;
      objectBytes.value += watch.objectBytes;
    },
  });
};

/** Bytes of connections: those that have ended, and those that are open. */
class Traffic {
  private readonly sockets = new Set<Socket>();
  private readonly ended = { bytesRead: 0, bytesWritten: 0 };

  watch(server: Server): void {
    onConnection(server, (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => {
        this.sockets.delete(socket);
        this.ended.bytesRead += socket.bytesRead;
        this.ended.bytesWritten += socket.bytesWritten;
      });
    });
  }
  get open(): number {
    return this.sockets.size;
  }
  bytes(which: 'bytesRead' | 'bytesWritten'): number {
    let sum = this.ended[which];
    for (const socket of this.sockets) sum += socket[which];
    return sum;
  }
}

/** Milliseconds between two looks at the event loop. */
const tickMs = 5;

/**
 * How late the main thread's event loop was since the last look at the figures. The histogram holds whole intervals, so
 * the interval itself is taken off.
 */
const lateness = (registry: Registry, late: IntervalHistogram): void => {
  const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - tickMs) / 1e3;
  const read = { p50: () => late.percentile(50), p99: () => late.percentile(99), max: () => late.max };
  for (const [name, value] of Object.entries(read)) {
    gauge(registry, `lake_main_thread_late_${name}_seconds`, () => {
      const now = seconds(value());
      // The largest is read last.
      if (name === 'max') late.reset();
      return [[now]];
    });
  }
};

const gauge = (registry: Registry, name: string, read: () => Iterable<Sample>): void => {
  new Gauge({
    ...own(name),
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, labels = {}] of read()) this.set(labels, value);
    },
  });
};
/** Of what somebody else counts. */
const counter = (registry: Registry, name: string, read: () => Iterable<Sample>): void => {
  new Counter({
    ...own(name),
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, labels = {}] of read()) this.inc(labels, value);
    },
  });
};
