/** Files loaded into several pools as one transaction: all of them are there, or none. */
import { useEffect, useMemo } from 'preact/hooks';
import { useAction } from '../action.ts';
import { useNote } from '../changes.tsx';
import { Field, FilePlace } from '../fields.tsx';
import { CopyLine, Dialog, Fault, IconButton, Name } from '../parts.tsx';
import { bytes, counted, visible, visibleName } from '../text.ts';
import { TransactionPlan } from './plan.ts';

/** The dialog that gathers them; each file has a pool and a branch of its own. */
export const LoadTogether = ({ onClose }: { readonly onClose: () => void }) => {
  const plan = useMemo(() => new TransactionPlan(), []);
  const note = useNote();
  const action = useAction(onClose);
  useEffect(
    () => () => {
      plan.cancel();
    },
    [],
  );
  const { length } = plan.parts.value;
  return (
    <Dialog
      title="Load into several pools"
      wide
      onClose={onClose}
      onSubmit={() => {
        if (plan.ready) action.run(() => plan.submit(note.options));
      }}
      actions={
        <>
          <button
            type="button"
            onClick={() => {
              if (action.busy) plan.cancel();
              else onClose();
            }}
          >
            {action.busy ? 'Cancel load' : 'Close'}
          </button>
          <button type="submit" class="main" disabled={!plan.ready || action.busy}>
            {action.busy ? 'Loading…' : `Load ${length > 1 ? counted(length, 'file') : 'file'}`}
          </button>
        </>
      }
    >
      <p class="soft">One transaction: all files are committed together, or none of them.</p>
      <Parts plan={plan} busy={action.busy} />
      {note.fields}
      <Fault text={action.fault} />
      {length > 0 && <CopyLine text={plan.line(note.options)} label="The same in a shell" />}
    </Dialog>
  );
};

interface PartsProps {
  readonly plan: TransactionPlan;
  readonly busy: boolean;
}
const Parts = ({ plan, busy }: PartsProps) => {
  const parts = plan.parts.value;
  return (
    <FilePlace busy={busy} empty={parts.length === 0} onFiles={(files) => plan.add(files)}>
      {parts.map((_, index) => (
        <PartRow key={index} plan={plan} index={index} busy={busy} />
      ))}
    </FilePlace>
  );
};

const PartRow = ({ plan, index, busy }: PartsProps & { readonly index: number }) => {
  const part = plan.parts.value[index];
  const { file, pool, branch, state, records } = part;
  const name = visible(file.name, 80);
  const text =
    state === 'waiting' ? bytes(file.size) : state === 'reading' ? 'Reading' : counted(records ?? 0, 'record');
  return (
    <li class="file">
      <div class="file-head">
        <strong>
          <Name text={file.name} max={80} />
        </strong>
        <span class="soft" role="status">
          {text}
        </span>
        {!busy && (
          <IconButton
            icon="close"
            label={`Leave out ${name}`}
            onClick={() => {
              plan.leaveOut(index);
            }}
          />
        )}
      </div>
      <div class="field-row">
        <Field label={`Pool of ${name}`}>
          {(props) => (
            <select
              {...props}
              value={pool}
              disabled={busy}
              onChange={(e) => {
                plan.place(index, { pool: e.currentTarget.value, branch: 'main' });
              }}
            >
              {plan.writable.map((one) => (
                <option key={one.id} value={one.id}>
                  {visibleName(one.name, 80)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={`Branch of ${name}`}>
          {(props) => (
            <select
              {...props}
              value={branch}
              disabled={busy}
              onChange={(e) => {
                plan.place(index, { branch: e.currentTarget.value });
              }}
            >
              {plan.branchesOf(part).map((one) => (
                <option key={one.name} value={one.name}>
                  {visibleName(one.name, 80)}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
    </li>
  );
};
