/**
 * A plot over time by uPlot: bars of a histogram, or lines. Colours come from the page's; a span can be dragged out.
 */
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { theme } from '../../../shared/theme.ts';

/** What is drawn. Times are in seconds since 1970. */
interface PlotCanvasProps {
  readonly kind: 'histogram' | 'lines';
  /** Seconds since 1970, then the values of each line. */
  readonly data: readonly (readonly (number | null)[])[];
  /** Seconds; of a histogram the end of its last bin too. */
  readonly range: readonly [number, number];
  readonly label: string;
  /** Position of the point under the pointer. */
  readonly onPoint: (index: number | undefined) => void;
  /** Seconds. */
  readonly onSpan?: (from: number, to: number) => void;
}

/** Of the plot in pixels. */
const heightOf = (rem: number): number => Math.max(13 * rem, Math.min(30 * rem, innerHeight * 0.36));

/** The plot itself; without `onSpan` no span can be dragged out. */
export const PlotCanvas = ({ kind, data, range, label, onPoint, onSpan }: PlotCanvasProps) => {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef({ onPoint, onSpan, range });
  latest.current = { onPoint, onSpan, range };
  const lines = data.length - 1;
  useEffect(() => {
    const box = place.current!;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const colour = colours(box);
    const drawn = new uPlot(
      options({
        kind,
        lines,
        width: box.clientWidth,
        height: heightOf(rem),
        rem,
        colour,
        latest: () => latest.current,
      }),
      data as unknown as uPlot.AlignedData,
      box,
    );
    plot.current = drawn;
    const observer = new ResizeObserver(() => {
      if (box.clientWidth > 0) drawn.setSize({ width: box.clientWidth, height: heightOf(rem) });
    });
    observer.observe(box);
    const stop = theme.subscribe(() => {
      queueMicrotask(() => {
        drawn.redraw(false);
      });
    });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => {
      drawn.redraw(false);
    };
    dark.addEventListener('change', redraw);
    return () => {
      stop();
      dark.removeEventListener('change', redraw);
      observer.disconnect();
      drawn.destroy();
    };
  }, [kind, lines]);
  useEffect(() => {
    plot.current?.setData(data as unknown as uPlot.AlignedData);
  }, [data]);
  return <div class={`plot-canvas${onSpan ? ' brush' : ''}`} ref={place} role="img" aria-label={label} />;
};

/** A canvas knows no custom properties: they are worked out by an element. */
const colours =
  (box: HTMLElement) =>
  (name: string): string => {
    const probe = box.appendChild(document.createElement('span'));
    probe.style.color = `var(--${name})`;
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };

interface Setup {
  readonly kind: 'histogram' | 'lines';
  readonly lines: number;
  readonly width: number;
  readonly height: number;
  readonly rem: number;
  readonly colour: (name: string) => string;
  readonly latest: () => Pick<PlotCanvasProps, 'onPoint' | 'onSpan' | 'range'>;
}
const options = ({ kind, lines, width, height, rem, colour, latest }: Setup): uPlot.Options => {
  const font = `${Math.round(rem * 0.75)}px system-ui, sans-serif`;
  const axis = {
    stroke: () => colour('soft'),
    grid: { stroke: () => colour('line'), width: 1 },
    ticks: { stroke: () => colour('line'), width: 1 },
    font,
  } satisfies uPlot.Axis;
  return {
    width,
    height,
    legend: { show: false },
    padding: [rem * 0.6, rem * 2.2, 0, 0],
    // The lake's times are UTC; so are those of the axis.
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    cursor: {
      drag: { x: latest().onSpan !== undefined, y: false, setScale: false },
      y: false,
      points: { show: kind === 'lines' },
    },
    scales: {
      x: { time: true, range: () => [...latest().range] as [number, number] },
      y: {
        range: (_plot, least, most) =>
          kind === 'histogram' || least >= 0
            ? [0, most > 0 ? most * 1.05 : 1]
            : [least - (most - least) * 0.05, most + (most - least) * 0.05],
      },
    },
    axes: [
      {
        ...axis,
        space: rem * 4.6,
        size: rem * 3,
        values: (_plot, splits, _axis, _space, step) => timeLabels(splits, step),
      },
      { ...axis, size: rem * 4.2, values: (_plot, splits) => splits.map(shortNumber) },
    ],
    series: [
      {},
      ...Array.from(
        { length: lines },
        (_, i): uPlot.Series =>
          kind === 'histogram'
            ? {
                fill: () => colour('series-1'),
                stroke: () => colour('series-1'),
                width: 0,
                points: { show: false },
                paths: uPlot.paths.bars!({ size: [1, Infinity], align: 1, gap: 1 }),
              }
            : { stroke: () => colour(`series-${i + 1}`), width: 2, spanGaps: false, points: { size: 5 } },
      ),
    ],
    hooks: {
      setCursor: [
        (plot) => {
          latest().onPoint(plot.cursor.idx ?? undefined);
        },
      ],
      setSelect: [
        (plot) => {
          const { left, width: wide } = plot.select;
          if (wide < 2) return;
          latest().onSpan?.(plot.posToVal(left, 'x'), plot.posToVal(left + wide, 'x'));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
};

const daySeconds = 86_400;
/** The day stands under the first label and where it begins. */
const timeLabels = (splits: readonly number[], step: number): string[] => {
  let before = '';
  return splits.map((seconds) => {
    const text = new Date(seconds * 1000).toISOString();
    const day = text.slice(0, 10);
    if (step >= 365 * daySeconds) return text.slice(0, 4);
    if (step >= 28 * daySeconds) return text.slice(0, 7);
    if (step >= daySeconds) return day;
    const time = step >= 60 ? text.slice(11, 16) : step >= 1 ? text.slice(11, 19) : text.slice(11, 23);
    const label = day === before ? time : `${time}\n${day}`;
    before = day;
    return label;
  });
};

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 });
/** `1.2M`, `350`. */
const shortNumber = (n: number): string => compact.format(n);
