/** The data objects of a revision: their key ranges as bars over one axis, records and sizes. */
import { useMemo } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { type RowProps, VirtualList } from '../shared/virtual-list.tsx';
import type { PoolInfo } from '../../src/client/client.ts';
import { useAnswer } from './action.ts';
import { barsOf, keyText } from './keys.ts';
import { readObjects } from './objects.ts';
import { Busy, Fault, Name } from './parts.tsx';
import { isNoCommit } from './pool/place.ts';
import { keyText as poolKeyText } from './pools.tsx';
import { bytes, count, shortId, visible } from './text.ts';

const objectsMax = 5000;

/** `commit`: the one whose objects are shown. */
export const Objects = ({ pool, commit }: { readonly pool: PoolInfo; readonly commit: string | undefined }) => {
  const active = useSignal(-1);
  const isEmpty = commit === undefined || isNoCommit(commit);
  const found = useAnswer(isEmpty ? undefined : commit, () => readObjects(pool, commit!, objectsMax), 0);
  const objects = found.value?.objects ?? [];
  const axis = useMemo(() => barsOf(objects), [objects]);
  const largest = useMemo(() => objects.reduce((max, o) => Math.max(max, Number(o.size)), 1), [objects]);
  if (found.busy && objects.length === 0) return <Busy text="Reading the data objects…" />;
  const row = (index: number, { key, ...props }: RowProps) => {
    const { id, min, max, count: records, size } = objects[index];
    const { from, to } = axis.bars[index];
    const low = keyText(min);
    const high = keyText(max);
    return (
      <div
        key={key}
        {...props}
        class="row object"
        role="option"
        onClick={() => {
          active.value = index;
        }}
        title={id}
      >
        <code class="id">{shortId(id)}</code>
        <span class="axis" aria-hidden="true">
          <span class="bar" style={{ left: `${from * 100}%`, width: `${(to - from) * 100}%` }} />
        </span>
        <span class="range mono">
          <Name text={low} max={34} />
          <span class="soft"> … </span>
          <Name text={high} max={34} />
        </span>
        <span class="number records">
          {count(Number(records))}
          <span class="hidden-text"> records, </span>
        </span>
        <span class="number size">
          <span class="size-bar" aria-hidden="true" style={{ width: `${(Number(size) / largest) * 100}%` }} />
          {bytes(Number(size))}
        </span>
      </div>
    );
  };
  return (
    <>
      <Fault text={found.fault} />
      {objects.length > 0 && (
        <div class="object-head soft" aria-hidden="true">
          <span>Object</span>
          <span class="axis-head">
            <span>
              <Name text={axis.low} max={26} />
            </span>
            <span>
              {visible(poolKeyText(pool), 40)}
              {axis.linear ? '' : ', in order'}
            </span>
            <span>
              <Name text={axis.high} max={26} />
            </span>
          </span>
          <span class="range">Keys</span>
          <span class="number">Records</span>
          <span class="number">Size</span>
        </div>
      )}
      <VirtualList
        id="object"
        label="Data objects"
        role="listbox"
        count={objects.length}
        rowRem={2.25}
        active={active.value}
        onActive={(i) => {
          active.value = i;
        }}
        row={row}
        empty={found.fault !== undefined ? 'They cannot be shown.' : 'No data objects: nothing has been loaded here.'}
      />
      {found.value?.more && <p class="soft more">The first {count(objectsMax)} are shown, in the order of the key.</p>}
    </>
  );
};
