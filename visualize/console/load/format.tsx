/** How files are read when they are loaded: their format, and what of it the service cannot find out. */
import { Field } from '../parts.tsx';
import type { LoadPlan } from './plan.ts';

const formats = [
  ['', 'Found out by the service'],
  ['json', 'JSON, NDJSON'],
  ['csv', 'CSV'],
  ['tsv', 'TSV'],
  ['sup', 'SUP'],
  ['jsup', 'JSUP'],
  ['bsup', 'BSUP'],
  ['csup', 'CSUP'],
  ['parquet', 'Parquet'],
  ['arrows', 'Arrow IPC stream'],
  ['zeek', 'Zeek'],
  ['line', 'Lines of text'],
] as const;

/** The fields that say how. */
export const Format = ({ plan }: { readonly plan: LoadPlan }) => (
  <>
    <div class="field-row">
      <Field label="Format">
        {(props) => (
          <select
            {...props}
            value={plan.format.value}
            disabled={plan.busy}
            onChange={(e) => {
              plan.format.value = e.currentTarget.value;
            }}
          >
            {formats.map(([id, text]) => (
              <option key={id} value={id}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      {plan.hasCsv && (
        <Field label="Delimiter">
          {(props) => (
            <input
              {...props}
              class="mono"
              value={plan.delimiter.value}
              maxLength={1}
              placeholder=","
              disabled={plan.busy}
              onInput={(e) => {
                plan.delimiter.value = e.currentTarget.value;
              }}
            />
          )}
        </Field>
      )}
    </div>
    {plan.hasArray && (
      <label class="check">
        <input
          type="checkbox"
          checked={!plan.asOne.value}
          disabled={plan.busy}
          onChange={(e) => {
            plan.asOne.value = !e.currentTarget.checked;
          }}
        />
        Each element of the JSON array is a record
      </label>
    )}
  </>
);
