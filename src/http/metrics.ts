/** Figures of the service in the text format of Prometheus. One registry a server: tests run several in a process. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Lake } from '../lake/lake.types.ts';
import type { WorkerPool } from '../workers/pool.types.ts';

export interface Metrics {
  /** Counts one answered request; `route` is the pattern, never the path, so that names do not become labels. */
  readonly answered: (labels: { readonly method: string; readonly route: string; readonly status: number }, seconds: number) => void;
  readonly text: () => Promise<string>;
  readonly contentType: string;
  readonly close: () => void;
}

/** Starts collecting. `subscribers` tells how many listen to the events feed. */
export const startMetrics = (lake: Lake, workers: WorkerPool, subscribers: () => number): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({ name: 'lake_http_requests_total', help: 'Requests answered', labelNames: ['method', 'route', 'status'], registers });
  const seconds = new Histogram({
    name: 'lake_http_request_seconds', help: 'Time from request to the end of its answer', labelNames: ['route'],
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60], registers,
  });
  gauge(registry, 'lake_pools', 'Pools of the lake', () => lake.pools().length);
  gauge(registry, 'lake_last_event_id', 'Id of the newest event', () => lake.lastEventId());
  gauge(registry, 'lake_events_subscribers', 'Subscribers of the events feed', subscribers);
  gauge(registry, 'lake_worker_threads', 'Worker threads', () => workers.status().threads);
  gauge(registry, 'lake_queries_running', 'Queries that run', () => workers.status().queriesRunning);
  gauge(registry, 'lake_loads_running', 'Loads that run', () => workers.status().loadsRunning);
  gauge(registry, 'lake_workers_replaced', 'Workers that died and were replaced', () => workers.status().replaced);
  gauge(registry, 'lake_parts', 'Parts of queries and loads that another worker took over', () => workers.status().parts);
  gauge(registry, 'lake_columns_found', 'Decoded columns that workers had in their caches', () => workers.status().columns.found);
  gauge(registry, 'lake_columns_missed', 'Decoded columns that workers had to read', () => workers.status().columns.missed);
  const late = monitorEventLoopDelay({ resolution: tickMs });
  late.enable();
  lateness(registry, late);
  return {
    answered: ({ method, route, status }, took) => {
      requests.inc({ method, route, status });
      seconds.observe({ route }, took);
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
    close: () => {
      late.disable();
      registry.clear();
    },
  };
};

/** Milliseconds between two looks at the event loop. */
const tickMs = 5;

/** How late the main thread's event loop was since the last look at the figures. The histogram holds whole intervals, so the interval itself is taken off. */
const lateness = (registry: Registry, histogram: IntervalHistogram): void => {
  const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - tickMs) / 1e3;
  const read = { p50: () => histogram.percentile(50), p99: () => histogram.percentile(99), max: () => histogram.max };
  for (const [name, value] of Object.entries(read)) {
    gauge(registry, `lake_main_thread_late_${name}_seconds`, `How late the main thread's event loop was since the last look (${name})`, () => {
      const now = seconds(value());
      // The largest is read last.
      if (name === 'max') histogram.reset();
      return now;
    });
  }
};

const gauge = (registry: Registry, name: string, help: string, value: () => number): void => {
  new Gauge({ name, help, registers: [registry], collect() { this.set(value()); } });
};
