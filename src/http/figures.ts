/**
 * Figures that are counted with every request, as plain numbers: prom-client makes a text of the labels each time that
 * it counts, and keeps its figures by it. It is told of these when somebody asks.
 */
import { Counter, type CounterConfiguration, Histogram, type HistogramConfiguration } from 'prom-client';

type Labels = Readonly<Record<string, string | number>>;

/** How often something was, for one set of labels. */
export interface Tally {
  readonly labels: Labels;
  value: number;
}
/** Counts by labels: who counts keeps the tallies that they were given. What never was is not told. */
export class Tallies {
  private readonly all: Tally[] = [];

  constructor(options: CounterConfiguration<string>) {
    const all = this.all;
    new Counter({
      ...options,
      collect() {
        this.reset();
        for (const { labels, value } of all) if (value > 0) this.inc(labels, value);
      },
    });
  }
  of(labels: Labels): Tally {
    const tally = { labels, value: 0 };
    this.all.push(tally);
    return tally;
  }
}

/** How values are spread over the buckets, for one set of labels. */
export class Spread {
  readonly labels: Labels;
  private readonly bounds: readonly number[];
  /** The last is of what lies beyond all bounds. */
  private readonly counts: Float64Array;
  private sum = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }
  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]) bucket++;
    this.counts[bucket]++;
    this.sum += value;
  }
  samples(name: string): Sample[] {
    let count = 0;
    const buckets = Array.from(
      this.counts,
      (own, i): Sample => ({
        metricName: `${name}_bucket`,
        labels: { le: this.bounds[i] ?? '+Inf', ...this.labels },
        value: (count += own),
      }),
    );
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: this.labels, value: this.sum },
      { metricName: `${name}_count`, labels: this.labels, value: count },
    ];
  }
}
interface Sample {
  readonly metricName: string;
  readonly labels: Labels;
  readonly value: number;
}

/** Spreads by labels: who observes keeps those that they were given. */
export class Spreads {
  private readonly bounds: readonly number[];
  private readonly all: Spread[] = [];

  constructor(options: HistogramConfiguration<string> & { readonly buckets: number[] }) {
    const { name, help, buckets } = options;
    this.bounds = buckets;
    const read = async (): Promise<unknown> => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: this.all.flatMap((spread) => spread.samples(name)),
    });
    // Both are asked for what it holds; its own is nothing.
    Object.assign(new Histogram(options), { get: read, getForPromString: read });
  }
  of(labels: Labels): Spread {
    const spread = new Spread(labels, this.bounds);
    this.all.push(spread);
    return spread;
  }
}
