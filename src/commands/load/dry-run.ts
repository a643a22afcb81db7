/** `lake load -dryrun`: what a load of each input would do, told without doing it. */
import { tmpdir } from 'node:os';
import { ConfigError } from '../../config/options.ts';
import type { LoadOptions } from '../../config/tables.ts';
import { type Preview, preview } from '../../formats/preview.ts';
import { TaskSpill } from '../../workers/query/spill.ts';
import { inputFormOf } from '../format-options.ts';
import type { CommandIo } from '../io.ts';
import { hiveFields } from './hive.ts';
import { formatOfInput, type LoadInput } from './inputs.ts';
import { bytesOf } from './send.ts';
import { ask, type Target } from './service.ts';

/** Tells it of each; exit status 1 if one of them could not be loaded. @throws Error where the service cannot be asked */
export const dryRun = async (
  target: Target,
  inputs: readonly LoadInput[],
  { values }: LoadOptions,
  io: CommandIo,
): Promise<number> => {
  const form = inputFormOf(values);
  const layout = target.pool === '' ? undefined : await layoutOf(target);
  let status = 0;
  for (const input of inputs) {
    const spill = new TaskSpill(tmpdir());
    try {
      const seen = await preview(await bytesOf(input, io), said(target, input), {
        ...form,
        scratch: () => spill.scratchBytes(),
      });
      const fields = values['hive'] ? hiveFields(input) : [];
      await io.write(shown(previewText(input.name, seen, keyText(target, layout, seen), fields)));
    } catch (problem) {
      if (!(problem instanceof Error) || problem instanceof ConfigError) throw problem;
      status = 1;
      const hint = 'details' in problem ? (problem.details as { readonly hint?: string }).hint : undefined;
      const told = `${problem.message}${hint === undefined ? '' : `\nhint: ${hint}`}`;
      await io.write(shown(`${input.name}\n  would be refused: ${told.replaceAll('\n', '\n  ')}\n`));
    } finally {
      spill.dispose();
    }
  }
  return status;
};

/** What files and errors hold cannot do anything to a terminal. */
const shown = (text: string): Uint8Array => Buffer.from(text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, '?'));

const said = ({ format }: Target, input: LoadInput): Parameters<typeof preview>[1] => {
  if (format) return { format, why: 'option -i says so' };
  const named = formatOfInput(input);
  return named && { format: named, why: 'its name says so' };
};

const previewText = (
  name: string,
  { format, why, doubts, type, records, rows }: Preview,
  key: string,
  fields: ReturnType<typeof hiveFields>,
): string =>
  [
    name,
    `  format  ${format}, since ${why}`,
    ...doubts.map((doubt) => `  unsure  ${doubt}`),
    `  type    ${type ?? 'none'} (of the first ${records} records)`,
    ...(fields.length > 0
      ? [`  fields  ${fields.map((field) => `${field.name}:${field.value}`).join(',')} of its folders`]
      : []),
    `  key     ${key}`,
    ...rows.map(
      (row, i) => `  ${i === 0 ? 'rows  ' : '      '}  ${row.length > rowMax ? `${row.slice(0, rowMax)}...` : row}`,
    ),
    '',
  ].join('\n');
/** Characters of a row that are shown. */
const rowMax = 500;

/** Keys and order of the pool; undefined: there is no such pool. */
interface Layout {
  readonly order: string;
  readonly keys: readonly (readonly string[])[];
}
const layoutOf = async ({ service, pool, headers }: Target): Promise<Layout | undefined> => {
  const { body } = await ask({ service }, '/query', {
    method: 'POST',
    body: JSON.stringify({ query: 'from :pools' }),
    headers: { ...headers, 'content-type': 'application/json' },
  });
  const pools = body as readonly { readonly name: string; readonly id: string; readonly layout: Layout }[];
  return pools.find(({ name, id }) => name === pool || id === pool)?.layout;
};

const keyText = ({ pool }: Target, layout: Layout | undefined, { fields, key }: Preview): string => {
  if (!layout) return `${key}, for a new pool${pool === '' ? '' : ` (there is no pool ${pool} yet)`}`;
  const absent = layout.keys.filter(([first = '']) => first !== '' && !fields.includes(first));
  const text = `${layout.keys.map((path) => path.join('.') || 'this').join(', ')} ${layout.order}, of the pool ${pool}`;
  return absent.length === 0 ? text : `${text}; records without ${absent.map((path) => path.join('.')).join(', ')}`;
};
