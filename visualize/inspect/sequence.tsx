/** Who sent what to whom, up to the place that is looked at: one lifeline an actor, time runs down. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { machineNames } from '../../machines/machines.ts';
import { changed, model, show, shownSteps } from './app.ts';
import { failedStep, labelOf, type Step, stepLabel } from './model.ts';
import { endText, eventText } from './timeline.tsx';

const messagesMax = 40;
const lanesMax = 5;
const rowPx = 30;
const headPx = 32;
const lanePxMin = 92;
const service = 'service';

/** Work that an actor invoked has no lifeline of its own: what it ends with comes from the actor itself. */
const senderOf = (step: Step): string =>
  step.by === undefined ? service : step.by.startsWith(`${step.actor}:`) ? step.actor : step.by;

export const Sequence = () => {
  changed.value;
  const source = model.value;
  const { at } = source;
  const box = useRef<HTMLDivElement>(null);
  const shown = shownSteps.value;
  let end = shown.length;
  while (end > 0 && shown[end - 1].n > at) end--;
  const steps = shown.slice(Math.max(0, end - messagesMax), end);
  const [boxWidth, setBoxWidth] = useState(500);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      setBoxWidth(box.current?.clientWidth ?? 500);
    });
    if (box.current) observer.observe(box.current);
    return () => {
      observer.disconnect();
    };
  }, []);
  // The newest actors get lifelines; messages of the others share one.
  const newest = new Set<string>();
  for (const step of [...steps].reverse())
    for (const name of [step.actor, senderOf(step)]) if (name !== service && newest.size < lanesMax) newest.add(name);
  const lanes = [service, ...[...newest].sort(inOrder)];
  const others = steps.some((s) => !newest.has(s.actor));
  if (others) lanes.push('others');
  const lanePx = Math.max(lanePxMin, Math.floor(boxWidth / lanes.length));
  const x = (name: string): number =>
    lanePx / 2 + lanePx * Math.max(0, lanes.includes(name) ? lanes.indexOf(name) : lanes.indexOf('others'));
  const name = (lane: string): string => {
    const info = source.actors.get(lane);
    return info ? labelOf(info) : lane;
  };
  const width = lanes.length * lanePx;
  const height = steps.length * rowPx + 12;
  useLayoutEffect(() => {
    box.current?.scrollTo({ top: height });
  }, [height, at, boxWidth]);
  return (
    <section class="panel sequence" aria-label="Sequence of messages">
      <header>
        <h2>Sequence</h2>
        <span class="soft">the last {steps.length} shown messages</span>
      </header>
      <div class="picture" ref={box} tabIndex={0} role="group" aria-label="Sequence diagram, scrollable">
        {steps.length === 0 ? (
          <p class="soft empty">No messages yet.</p>
        ) : (
          <>
            <svg class="lane-heads" width={width} height={headPx} viewBox={`0 0 ${width} ${headPx}`} aria-hidden="true">
              {lanes.map((lane) => (
                <g key={lane}>
                  <rect class="lane-head" x={x(lane) - lanePx / 2 + 3} y="4" width={lanePx - 6} height="24" rx="6" />
                  <text class="lane-name" x={x(lane)} y="20">
                    {short(name(lane), Math.floor(lanePx / 8) - 1)}
                    <title>{name(lane)}</title>
                  </text>
                </g>
              ))}
            </svg>
            <svg
              class="lanes"
              width={width}
              height={height}
              viewBox={`0 0 ${width} ${height}`}
              role="img"
              aria-label={`Sequence diagram of ${steps.length} messages; the list of messages has the same`}
            >
              <defs>
                <marker
                  id="tip-lane"
                  viewBox="0 0 10 10"
                  refX="9"
                  refY="5"
                  markerWidth="7"
                  markerHeight="7"
                  orient="auto-start-reverse"
                >
                  <path class="tip" d="M0 1L10 5L0 9z" />
                </marker>
              </defs>
              {lanes.map((lane) => (
                <line key={lane} class="lane" x1={x(lane)} x2={x(lane)} y1={0} y2={height} />
              ))}
              {steps.map((step, i) => (
                <Message
                  key={step.n}
                  step={step}
                  y={i * rowPx + 22}
                  from={x(senderOf(step))}
                  to={x(step.actor)}
                  width={width}
                  last={step.n === at}
                />
              ))}
            </svg>
          </>
        )}
      </div>
    </section>
  );
};

const inOrder = (a: string, b: string): number =>
  machineNames.findIndex((r) => a.startsWith(r)) - machineNames.findIndex((r) => b.startsWith(r)) ||
  a.localeCompare(b, 'en', { numeric: true });
const short = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

const Message = ({
  step,
  y,
  from,
  to,
  width,
  last,
}: {
  readonly step: Step;
  readonly y: number;
  readonly from: number;
  readonly to: number;
  readonly width: number;
  readonly last: boolean;
}) => {
  const self = from === to;
  const end = endText(step);
  const text = `${stepLabel(step)}${step.fields['kind'] === undefined ? '' : ` ${String(step.fields['kind'])}`}`;
  return (
    <g class={`message${failedStep(step) ? ' bad' : ''}${last ? ' last' : ''}`} onClick={() => show(step)}>
      <rect class="hit-area" x="0" y={y - 20} width={width} height={rowPx} />
      {self ? (
        <path class="arrow" d={`M${to} ${y - 6}h18v8h-16`} marker-end="url(#tip-lane)" />
      ) : (
        <line class="arrow" x1={from} x2={to + (to > from ? -2 : 2)} y1={y} y2={y} marker-end="url(#tip-lane)" />
      )}
      <text
        class="message-text"
        x={self ? to + 24 : (from + to) / 2}
        y={self ? y + 2 : y - 5}
        text-anchor={self ? 'start' : 'middle'}
      >
        {short(end === '' ? text : `${text}: ${end}`, self ? 34 : 40)}
        <title>{`${eventText(step)}${end === '' ? '' : ` — ${end}`}`}</title>
      </text>
    </g>
  );
};
