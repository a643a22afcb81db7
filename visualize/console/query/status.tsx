/** What became of the query: how far it is while it lasts, what it took, what went wrong and where. */
import { LakeFailure } from '../../../src/client/client.ts';
import { bytes, count, counted, duration, faultText, visible, visibleLines } from '../text.ts';
import type { Run } from './run.ts';

/**
 * The state of a run and its figures; asks whether to go on when as many rows as are kept are there. `onBringBack`: the
 * text was changed since, and this brings the one of the rows back.
 */
export const RunStatus = ({ run, onBringBack }: { readonly run: Run; readonly onBringBack?: () => void }) => {
  run.version.value;
  const state = run.state.value;
  const { store, firstMs, totalMs, stats } = run;
  const parts: string[] = [];
  if (firstMs !== undefined) parts.push(`first after ${duration(firstMs)}`);
  if (totalMs !== undefined) parts.push(`${state === 'done' ? 'all' : 'ended'} after ${duration(totalMs)}`);
  // What is kept in memory costs no reading.
  if (stats && stats.recordsRead > 0)
    parts.push(
      `${counted(stats.recordsRead, 'record')} read${stats.bytesRead > 0 ? `, ${bytes(stats.bytesRead)} from disk` : ''}`,
    );
  parts.push(`${bytes(store.bytes)} received`);
  const words = {
    running: 'Running',
    full: 'Waiting',
    done: 'Done',
    failed: 'Failed',
    cancelled: 'Cancelled',
  } as const;
  const tones = { running: 'warn', full: 'warn', done: 'good', failed: 'bad', cancelled: 'warn' } as const;
  return (
    <div class="run-status">
      <span class={`pill ${onBringBack ? 'warn' : tones[state]}`} role="status">
        {onBringBack && state === 'done' ? 'Outdated' : words[state]}
      </span>
      <strong>{counted(store.count, 'row')}</strong>
      {onBringBack ? (
        <span class="outdated">
          of an earlier text{' '}
          <button type="button" class="link" title={visible(run.text, 600)} onClick={onBringBack}>
            Bring it back
          </button>
        </span>
      ) : (
        <span class="soft figures-line">{parts.join(' · ')}</span>
      )}
      {state === 'full' && (
        <span class="group">
          <button
            type="button"
            onClick={() => {
              run.more();
            }}
          >
            More
          </button>
          <button
            type="button"
            onClick={() => {
              run.cancel();
            }}
          >
            Stop
          </button>
        </span>
      )}
    </div>
  );
};

/** How much of what is to be read was read; shown while the query runs and the service has told of it. */
export const RunProgress = ({ run }: { readonly run: Run }) => {
  const { value } = run.progress;
  if (!value || run.state.value !== 'running') return null;
  const { recordsRead, recordsTotal, recordsPerSecond } = value;
  const share = recordsTotal ? Math.min(1, recordsRead / recordsTotal) : undefined;
  return (
    <div class="run-progress">
      {share === undefined ? (
        <progress aria-label="Progress of the query" />
      ) : (
        <progress aria-label="Progress of the query" value={share} max={1} />
      )}
      <span class="soft">
        {value.state === 'waiting'
          ? 'waiting for its turn'
          : `${count(recordsRead)}${recordsTotal ? ` of ${count(recordsTotal)}` : ''} records read · ${count(Math.round(recordsPerSecond))}/s`}
      </span>
    </div>
  );
};

/** Why it failed. What came before stays in sight below. */
export const RunFault = ({
  run,
  onPlace,
}: {
  readonly run: Run;
  readonly onPlace: (start: number, end: number) => void;
}) => {
  const fault = run.fault.value;
  if (!fault) return null;
  const places = fault instanceof LakeFailure ? fault.places : [];
  const hint = fault instanceof LakeFailure ? fault.hint : undefined;
  return (
    <div class="fault" role="alert">
      <pre>{visibleLines(faultText(fault), 4000)}</pre>
      {hint !== undefined && <p>{visible(hint, 600)}</p>}
      {run.store.count > 0 && (
        <p>
          The {counted(run.store.count, 'row')} that came before {run.store.count === 1 ? 'is' : 'are'} kept below.
        </p>
      )}
      {places[0] && (
        <button
          type="button"
          onClick={() => {
            onPlace(places[0].start, places[0].end < 0 ? places[0].start : places[0].end + 1);
          }}
        >
          Show the place
        </button>
      )}
    </div>
  );
};

/** What the service warned of; nothing where it did not. */
export const Warnings = ({ run }: { readonly run: Run }) =>
  run.warnings.value.length === 0 ? null : (
    <ul class="warnings">
      {run.warnings.value.map((text, i) => (
        <li key={i}>{visible(text, 600)}</li>
      ))}
    </ul>
  );
