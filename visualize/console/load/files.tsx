/** The files of a load: chosen or dropped, each with how far it is. */
import { FilePlace } from '../fields.tsx';
import { FileRow } from './file-row.tsx';
import type { LoadPlan } from './plan.ts';

/** The place for files, with those that are there. */
export const Files = ({ plan }: { readonly plan: LoadPlan }) => {
  const { busy } = plan;
  const items = plan.items.value;
  return (
    <FilePlace busy={busy} empty={items.length === 0} onFiles={(files) => plan.add(files)}>
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
    </FilePlace>
  );
};
