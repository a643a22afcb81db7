/** A file of the load dialog: how far it is, and the text around a fault in it. */
import { useEffect, useRef } from 'preact/hooks';
import { IconButton, Id, Name } from '../parts.tsx';
import { bytes, count, counted, duration, visible } from '../text.ts';
import type { FaultLine } from './file-text.ts';
import type { Item } from './item.ts';

const states: Readonly<Record<string, string>> = {
  waiting: 'Waiting for its turn',
  receiving: 'Reading',
  sorting: 'Sorting',
  writing: 'Writing',
  committing: 'Committing',
};

/** One file of the load dialog; without `onRemove` it cannot be left out any more. */
export const FileRow = ({ item, onRemove }: { readonly item: Item; readonly onRemove?: () => void }) => {
  const { file, state, progress, commit, fault, hint, lines, ms, lost, faulty, isRepeat } = item;
  const service = progress?.progress;
  const share = progress && progress.total > 0 ? progress.sent / progress.total : 0;
  const sending = state === 'loading' && share < 1;
  const text =
    state === 'waiting'
      ? bytes(file.size)
      : state === 'preparing'
        ? 'Taking the array apart'
        : state === 'cancelled'
          ? 'Cancelled: nothing was loaded'
          : state === 'failed'
            ? lost
              ? 'Not known whether it was loaded'
              : 'Failed: nothing was loaded'
            : state === 'done' && isRepeat
              ? 'Was loaded by the try before'
              : state === 'done'
                ? `${service ? `${counted(service.records, 'record')}, ` : ''}${bytes(file.size)} in ${duration(ms!)}`
                : `${sending ? `Sent ${Math.floor(share * 100)} %` : (states[service?.state ?? 'receiving'] ?? 'Working')}${service && service.records > 0 ? `, ${counted(service.records, 'record')}` : ''}${service && service.recordsPerSecond > 0 ? `, ${count(Math.round(service.recordsPerSecond))} a second` : ''}`;
  return (
    <li class={`file ${state}`}>
      <div class="file-head">
        <strong>
          <Name text={file.name} max={80} />
        </strong>
        <span class="soft" {...(state !== 'loading' && { role: 'status' })}>
          {text}
          {commit !== undefined && (
            <>
              {' '}
              · commit <Id id={commit} />
            </>
          )}
        </span>
        {onRemove && <IconButton icon="close" label={`Leave out ${visible(file.name, 80)}`} onClick={onRemove} />}
      </div>
      {(state === 'loading' || state === 'preparing') && (
        <progress
          max={1}
          {...(sending && state === 'loading' && { value: share })}
          aria-label={`Load of ${visible(file.name, 80)}`}
        />
      )}
      {faulty && (
        <p class="note" role="status">
          {counted(faulty.count, 'record')} could not be read. The first: {visible(faulty.first, 500)}
        </p>
      )}
      {fault !== undefined && (
        <p class="fault" role="alert">
          {visible(fault, 2000)}
          {hint !== undefined && (
            <>
              <br />
              {visible(hint, 500)}
            </>
          )}
        </p>
      )}
      {lines && (
        <figure class="fault-place">
          <figcaption class="soft">In the file</figcaption>
          <pre tabIndex={0} aria-label="The text around the fault">
            {lines.map((line, i) => (
              <FaultText key={i} line={line} />
            ))}
          </pre>
        </figure>
      )}
    </li>
  );
};
const FaultText = ({ line: { number, text, isFault, at } }: { readonly line: FaultLine }) => {
  const mark = useRef<HTMLElement>(null);
  // In a narrow window a long line shows the fault, not its beginning.
  useEffect(() => {
    mark.current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, []);
  const before = at === undefined ? '' : text.slice(0, at);
  const there = at === undefined ? '' : ([...text.slice(at)][0] ?? ' ');
  const after = at === undefined ? text : text.slice(at + there.length);
  return (
    <span class={`fault-line${isFault ? ' is-fault' : ''}`}>
      <span class="line-number" aria-hidden="true">
        {number ?? ''}
      </span>
      <bdi>
        {at === undefined ? (
          visible(after, 200)
        ) : (
          <>
            {visible(before, 200)}
            <mark ref={mark}>{visible(there)}</mark>
            {visible(after, 200)}
          </>
        )}
      </bdi>
      {'\n'}
    </span>
  );
};
