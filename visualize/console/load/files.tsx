/** The files of a load: chosen or dropped, each with how far it is. */
import { useRef } from 'preact/hooks';
import { Icon } from '../parts.tsx';
import { FileRow } from './file-row.tsx';
import type { LoadPlan } from './plan.ts';

/** The place for files, with those that are there. */
export const Files = ({ plan }: { readonly plan: LoadPlan }) => {
  const picker = useRef<HTMLInputElement>(null);
  const { busy } = plan;
  const items = plan.items.value;
  return (
    <div
      class="drop-place"
      onDragOver={(e) => {
        e.preventDefault();
      }}
      onDrop={(e) => {
        e.preventDefault();
        e.stopPropagation();
        if (!busy) plan.add([...(e.dataTransfer?.files ?? [])]);
      }}
    >
      {items.length === 0 ? (
        <p>
          <strong>Drop files here</strong> <span class="soft">or</span>
        </p>
      ) : (
        <ul class="files">
          {items.map((item, i) => (
            <FileRow
              key={`${i} ${item.file.name}`}
              item={item}
              {...(item.state === 'waiting' &&
                !busy && {
                  onRemove: () => {
                    plan.leaveOut(i);
                  },
                })}
            />
          ))}
        </ul>
      )}
      <button type="button" disabled={busy} data-first onClick={() => picker.current?.click()}>
        <Icon name="upload" />
        {items.length === 0 ? 'Choose files' : 'Add files'}
      </button>
      <input
        ref={picker}
        class="hidden-text"
        type="file"
        multiple
        aria-label="Files to load"
        tabIndex={-1}
        onChange={(e) => {
          plan.add([...(e.currentTarget.files ?? [])]);
          e.currentTarget.value = '';
        }}
      />
    </div>
  );
};
