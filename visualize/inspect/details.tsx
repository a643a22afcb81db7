/** Context and queue of the chosen actor, and the plots. */
import { changed, chosenActor, isLive, model, paused } from './app.ts';
import type { LiveFields } from '../../src/recording/live.ts';
import { type ActorInfo, eventLabel, type Sample } from './model.ts';
import { endText } from './timeline.tsx';

const shown = (value: unknown): string =>
  value === null ? '–' : typeof value === 'number' ? value.toLocaleString('en-US') : String(value);
const Fields = ({ fields }: { readonly fields: LiveFields }) => (
  <dl class="fields">
    {Object.entries(fields).map(([name, value]) => (
      <div key={name} class={typeof value === 'string' && value.length > 16 ? 'long' : ''}>
        <dt>{name}</dt>
        <dd class={typeof value === 'string' && /^[0-9a-f]{40}$/.test(value) ? 'mono' : ''}>{shown(value)}</dd>
      </div>
    ))}
  </dl>
);

/**
 * Context and queue of the chosen actor: as the service tells them while the live view goes on, else by its messages;
 * nothing without an actor.
 */
export const Details = () => {
  changed.value;
  const info = chosenActor.value;
  const source = model.value;
  if (!info) return null;
  const detail = isLive.value && !paused.value && source.detail?.actor === info.actor ? source.detail : undefined;
  return (
    <section class="panel details" aria-label="Context and queue" tabIndex={0}>
      <div class="columns">
        <div>
          <h3>
            Context
            {detail ? '' : <span class="soft"> {isLive.value && !paused.value ? '' : 'of the last message'}</span>}
          </h3>
          {detail ? <Fields fields={detail.context} /> : <LastFields info={info} />}
        </div>
        <div>
          <h3>Queue</h3>
          {detail ? (
            <Jobs waiting={detail.waiting} running={detail.running} total={Number(detail.context['waiting'] ?? 0)} />
          ) : (
            <Jobs waiting={source.jobsInHand(info)} running={[]} total={source.jobsInHand(info).length} />
          )}
        </div>
      </div>
    </section>
  );
};

const LastFields = ({ info }: { readonly info: ActorInfo }) => {
  const step = model.value.lastStep(info);
  if (!step) return <p class="soft">Nothing is known of this moment.</p>;
  const end = endText(step);
  return <Fields fields={{ message: eventLabel(step.event), ...step.fields, ...(end !== '' && { settled: end }) }} />;
};

const jobsMax = 50;
const Jobs = ({
  waiting,
  running,
  total,
}: {
  readonly waiting: readonly LiveFields[];
  readonly running: readonly LiveFields[];
  readonly total: number;
}) => {
  const text = ({ id, kind, ...rest }: LiveFields): string =>
    `${kind === undefined ? 'work' : String(kind)} ${id === undefined ? '' : `#${String(id)}`} ${Object.entries(rest)
      .filter(([name]) => /branch|target|child|name|objects/.test(name))
      .map(([name, v]) => `${name} ${shown(v)}`)
      .join(', ')}`;
  if (waiting.length + running.length === 0) return <p class="soft">Empty.</p>;
  return (
    <ol class="jobs">
      {running.slice(0, jobsMax).map((job, i) => (
        <li key={`r${i}`}>
          <span class="pill warn">in work</span> {text(job)}
        </li>
      ))}
      {waiting.slice(0, jobsMax).map((job, i) => (
        <li key={`w${i}`}>{text(job)}</li>
      ))}
      {total > Math.min(waiting.length, jobsMax) && (
        <li class="soft">and {total - Math.min(waiting.length, jobsMax)} more</li>
      )}
    </ol>
  );
};

/** Messages and queued jobs over time. */
export const Plots = () => {
  changed.value;
  const { samples } = model.value;
  const over = isLive.value ? 'in the last two minutes' : 'over the recording';
  return (
    <div class="plots">
      <Plot title="Messages a second" samples={samples} value={(s) => s.messages} over={over} />
      <Plot title="Jobs in queues" samples={samples} value={(s) => s.waiting} over={over} />
    </div>
  );
};

const Plot = ({
  title,
  samples,
  value,
  over,
}: {
  readonly title: string;
  readonly samples: readonly Sample[];
  readonly value: (sample: Sample) => number;
  readonly over: string;
}) => {
  const width = 120;
  const height = 28;
  const values = samples.map(value);
  const most = Math.max(1, ...values);
  // The second that is not over yet would always look low.
  const now = values.at(isLive.value && values.length > 1 ? -2 : -1) ?? 0;
  const first = isLive.value && samples.length > 0 ? samples.at(-1)!.ms - (width - 1) * 1000 : 0;
  const at = samples.map((s, i) => (isLive.value ? (s.ms - first) / 1000 : i));
  const points = values.map((v, i) => `${at[i].toFixed(1)} ${(height - (v / most) * (height - 2)).toFixed(1)}`);
  return (
    <figure class="plot">
      <figcaption>
        <span>{title}</span> <strong>{shown(now)}</strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${shown(now)} now, at most ${shown(Math.max(0, ...values))} ${over}`}
      >
        {points.length > 1 && (
          <>
            <path
              class="area"
              d={`M${at[0].toFixed(1)} ${height}L${points.join('L')}L${at.at(-1)!.toFixed(1)} ${height}z`}
            />
            <path class="curve" d={`M${points.join('L')}`} />
          </>
        )}
      </svg>
      <span class="soft most">max {shown(Math.max(0, ...values))}</span>
    </figure>
  );
};
