/** How what people already run sends its data here: configurations to copy, with this address and a pool filled in. */
import { useSignal } from '@preact/signals';
import { recipes } from 'virtual:recipes';
import { Field } from '../fields.tsx';
import { CopyLine, Dialog } from '../parts.tsx';
import { base, session } from '../session.ts';
import { filledIn } from './fill.ts';

/** `pool`: where it is to go; else each says what it is called in the manual. */
export const AddData = ({ pool, onClose }: { readonly pool?: string; readonly onClose: () => void }) => {
  const chosen = useSignal(0);
  const typed = useSignal(pool);
  const recipe = recipes[chosen.value];
  const name = typed.value ?? recipe.pool;
  const guarded = session.value.kind === 'in';
  return (
    <Dialog
      title="Add data"
      wide
      onClose={onClose}
      onSubmit={onClose}
      actions={
        <button type="submit" class="main">
          Done
        </button>
      }
    >
      <div class="field-row">
        <Field label="What sends it">
          {(props) => (
            <select
              {...props}
              data-first
              value={String(chosen.value)}
              onChange={(e) => {
                chosen.value = Number(e.currentTarget.value);
              }}
            >
              {recipes.map(({ title }, i) => (
                <option key={title} value={String(i)}>
                  {title}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Pool">
          {(props) => (
            <input
              {...props}
              class="mono"
              value={name}
              maxLength={1000}
              required
              onInput={(e) => {
                typed.value = e.currentTarget.value;
              }}
            />
          )}
        </Field>
      </div>
      <CopyLine
        text={filledIn(recipe, { address: base, pool: name, guarded })}
        label={`Configuration of ${recipe.title}`}
      />
      {guarded && (
        <p class="soft">
          <code>LAKE_TOKEN</code> stands for a key of the role writer:{' '}
          <code>lake key add -role writer:{name} NAME</code> makes one.
        </p>
      )}
      <p class="soft">
        <a href="docs#shippers">Send it your logs</a> and{' '}
        <a href="docs#elasticsearch">what ships to Elasticsearch or Loki</a> say what becomes of each record.
      </p>
    </Dialog>
  );
};
