/** Where files are loaded: a branch of a pool, or a new pool with its name, key and order. */
import { BranchOptions } from '../branch-options.tsx';
import { Field } from '../fields.tsx';
import { OrderField } from '../pool/dialogs.tsx';
import { visibleName } from '../text.ts';
import type { LoadPlan } from './plan.ts';

/** The fields that say where. The pool is not asked for where it is settled. */
export const Target = ({ plan }: { readonly plan: LoadPlan }) => (
  <>
    {!plan.isSettled && (
      <Field label="Into">
        {(props) => (
          <select
            {...props}
            value={plan.target}
            disabled={plan.busy || plan.started}
            onChange={(e) => {
              plan.choose(e.currentTarget.value);
            }}
          >
            {plan.mayMake && <option value="">A new pool</option>}
            {plan.writable.map((p) => (
              <option key={p.id} value={p.id}>
                {visibleName(p.name, 80)}
              </option>
            ))}
          </select>
        )}
      </Field>
    )}
    {plan.isNew ? (
      <NewPool plan={plan} />
    ) : (
      <Field label="Branch">
        {(props) => (
          <select
            {...props}
            value={plan.branch.value}
            disabled={plan.busy}
            onChange={(e) => {
              plan.branch.value = e.currentTarget.value;
            }}
          >
            <BranchOptions all={plan.branches} chosen={plan.branch.value} max={80} />
          </select>
        )}
      </Field>
    )}
    {plan.isTaken && (
      <p class="fault" role="alert">
        There is a pool of this name already.
      </p>
    )}
  </>
);

const NewPool = ({ plan }: { readonly plan: LoadPlan }) => (
  <div class="field-row">
    <Field label="Name of the pool">
      {(props) => (
        <input
          {...props}
          value={plan.name.value}
          disabled={plan.busy}
          autocomplete="off"
          spellcheck={false}
          onInput={(e) => {
            plan.name.value = e.currentTarget.value;
          }}
        />
      )}
    </Field>
    <Field label="Key" hint="Records are kept in the order of this field.">
      {(props) => (
        <>
          <input
            {...props}
            class="mono"
            value={plan.key}
            disabled={plan.busy}
            list="likely-keys"
            autocomplete="off"
            spellcheck={false}
            onInput={(e) => {
              plan.key = e.currentTarget.value;
            }}
          />
          <datalist id="likely-keys">
            {plan.fields.map((f) => (
              <option key={f} value={f} />
            ))}
          </datalist>
        </>
      )}
    </Field>
    <OrderField
      order={plan.order.value}
      disabled={plan.busy}
      onOrder={(order) => {
        plan.order.value = order;
      }}
    />
  </div>
);
