/** How files are read when they are loaded: their format, and what of it the service cannot find out. */
import { formatOfName, requestFormats, titleOf } from '../../../src/format-names.ts';
import type { LoadPlan } from './plan.ts';
import { Field } from '../fields.tsx';

const formats = requestFormats.map((name) => [name, titleOf(name)] as const);
/** Where none is chosen: what the line for a shell says then, in words. */
const unchosen = (plan: LoadPlan): string => {
  const named = new Set(plan.items.value.map(({ file }) => formatOfName(file.name)));
  if (named.size > 1) return 'By their names, else found out';
  const [one] = named;
  return one === undefined ? 'Found out by the service' : `${titleOf(one)}, by the name`;
};

const errorRules = [
  ['', 'Refuse the file'],
  ['skip', 'Leave them out'],
  ['wrap', 'Keep as errors'],
] as const;

/** One of several: pairs of a value and its text. */
const Choice = ({
  plan,
  label,
  choices,
  value,
  choose,
}: {
  readonly plan: LoadPlan;
  readonly label: string;
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly value: string;
  readonly choose: (value: string) => void;
}) => (
  <Field label={label}>
    {(props) => (
      <select
        {...props}
        value={value}
        disabled={plan.busy}
        onChange={(e) => {
          choose(e.currentTarget.value);
        }}
      >
        {choices.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

/** Parameters of CSV that are written; `shown`: what is there without them. */
const csvTexts = [
  { name: 'csv.delim', label: 'Delimiter', shown: 'found out', most: 1 },
  { name: 'csv.skip', label: 'Title lines', shown: '0', most: 6 },
  { name: 'csv.header', label: 'Header lines', shown: '1', most: 1 },
  { name: 'csv.quote', label: 'Quote', shown: '"', most: 4 },
  { name: 'csv.escape', label: 'Escape', shown: 'the quote', most: 1 },
  { name: 'csv.comment', label: 'Comments begin with', shown: '', most: 16 },
  { name: 'csv.null', label: 'Words for null', shown: 'NA,-', most: 6000 },
  { name: 'types', label: 'Types', shown: 'none, or zip=string', most: 65_536 },
] as const;
/** Those that are chosen; the first choice is what is done without them. */
const csvChoices = [
  {
    name: 'csv.decimal',
    label: 'Decimal sign',
    choices: [
      ['', 'Point'],
      [',', 'Comma'],
    ],
  },
  {
    name: 'csv.ragged',
    label: 'Ragged rows',
    choices: [
      ['', 'Refuse'],
      ['fill', 'Fill'],
      ['wrap', 'Wrap as errors'],
    ],
  },
  {
    name: 'csv.names',
    label: 'Names that come twice',
    choices: [
      ['', 'Refuse'],
      ['number', 'Number'],
    ],
  },
] as const;
const CsvFields = ({ plan }: { readonly plan: LoadPlan }) => (
  <details class="note" open={Object.keys(plan.csv.value).length > 0}>
    <summary>How the CSV is written</summary>
    <div class="field-row">
      {csvTexts.map(({ name, label, shown, most }) => (
        <Field key={name} label={label}>
          {(props) => (
            <input
              {...props}
              class="mono"
              value={plan.csv.value[name] ?? ''}
              maxLength={most}
              placeholder={shown}
              disabled={plan.busy}
              onInput={(e) => {
                plan.sayCsv(name, e.currentTarget.value);
              }}
            />
          )}
        </Field>
      ))}
      {csvChoices.map(({ name, label, choices }) => (
        <Choice
          key={name}
          plan={plan}
          label={label}
          choices={choices}
          value={plan.csv.value[name] ?? ''}
          choose={(value) => {
            plan.sayCsv(name, value);
          }}
        />
      ))}
    </div>
  </details>
);

const byteRules = [
  ['', 'Keep (text formats show �)'],
  ['refuse', 'Refuse the file'],
] as const;

/** The fields that say how. */
export const Format = ({ plan }: { readonly plan: LoadPlan }) => (
  <>
    <div class="field-row">
      <Choice
        plan={plan}
        label="Format"
        choices={[['', unchosen(plan)], ...formats]}
        value={plan.format.value}
        choose={(value) => {
          plan.format.value = value;
        }}
      />
      <Choice
        plan={plan}
        label="Bytes that are not UTF-8"
        choices={byteRules}
        value={plan.refusesBytes.value ? 'refuse' : ''}
        choose={(value) => {
          plan.refusesBytes.value = value === 'refuse';
        }}
      />
      <Choice
        plan={plan}
        label="Records that cannot be read"
        choices={errorRules}
        value={plan.errors.value}
        choose={(value) => {
          plan.errors.value = value;
        }}
      />
    </div>
    {plan.hasCsv && <CsvFields plan={plan} />}
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
