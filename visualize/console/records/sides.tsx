/** One record as several sides have it: field by field beside each other, what differs marked. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Name } from '../parts.tsx';
import { shown } from '../query/print.ts';
import { type Cell, isNull } from '../query/wire.ts';
import { counted, visible } from '../text.ts';
import { fieldsOf, isSame } from './cells.ts';

/** A side: its head, and the record as it has it; undefined where it has none. */
export interface Side {
  readonly id: string;
  readonly head: ComponentChildren;
  readonly record: Cell | undefined;
}
interface Row {
  readonly name: string;
  readonly cells: readonly (Cell | undefined)[];
  readonly differs: boolean;
  /** Fields within it that differ, where the service tells them. */
  readonly within: readonly string[];
}
type Changed = readonly (readonly string[])[] | undefined;
/** Fields of a record that are drawn. */
const fieldsMax = 300;

/** The record of a side; null, as the service writes where there is none, is none. */
export const recordOf = (cell: Cell | undefined): Cell | undefined => (cell && !isNull(cell) ? cell : undefined);

/** `changed`: paths of what differs, which else is looked for. */
const rowsOf = (sides: readonly Side[], changed: Changed): readonly Row[] => {
  const all = sides.map(({ record }) => (record ? (fieldsOf(record) ?? new Map([['', record]])) : undefined));
  const present = all.filter((each) => each !== undefined);
  const names = new Set(present.flatMap((each) => [...each.keys()]));
  return [...names].map((name) => {
    const cells = all.map((each) => each?.get(name));
    const held = cells.filter((_, i) => all[i] !== undefined);
    if (!changed) return { name, cells, differs: held.some((cell) => !isSame(cell, held[0])), within: [] };
    const paths = changed.filter(([first]) => first === name);
    const within = paths.flatMap(([, ...inner]) => (inner.length > 0 ? [inner.join('.')] : []));
    return { name, cells, differs: paths.length > 0, within };
  });
};

/**
 * The table of the sides. Fields that are the same on all of them are shown when one asks for them. `changed`: paths of
 * the fields that differ, as the service tells them; else values are compared.
 */
export const Sides = ({
  sides,
  label,
  changed,
}: {
  readonly sides: readonly Side[];
  readonly label: string;
  readonly changed?: Changed;
}) => {
  const [all, setAll] = useState(false);
  const rows = rowsOf(sides, changed);
  const differing = rows.filter(({ differs }) => differs);
  const shownRows = all || differing.length === 0 ? rows : differing;
  const same = rows.length - differing.length;
  return (
    <>
      <div class="sides-box" role="region" aria-label={label} tabIndex={0}>
        <table class="sides">
          <thead>
            <tr>
              <th scope="col">
                <span class="hidden-text">Field</span>
              </th>
              {sides.map(({ id, head }) => (
                <th key={id} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shownRows.slice(0, fieldsMax).map(({ name, cells, differs, within }) => (
              <tr key={name} class={differs ? 'differs' : ''}>
                <th scope="row">
                  {name === '' ? <span class="soft">value</span> : <Name text={name} max={60} />}
                  {differs && <span class="hidden-text">, changed</span>}
                  {within.length > 0 && <span class="soft"> {visible(within.join(', '), 120)}</span>}
                </th>
                {cells.map((cell, i) => (
                  <td key={sides[i].id}>
                    <Value cell={cell} isThere={sides[i].record !== undefined} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shownRows.length > fieldsMax && <p class="soft">The first {counted(fieldsMax, 'field')} are shown.</p>}
      {same > 0 && differing.length > 0 && (
        <button
          type="button"
          class="link"
          onClick={() => {
            setAll(!all);
          }}
        >
          {all ? 'Changed fields alone' : `${counted(same, 'field')} more, the same`}
        </button>
      )}
    </>
  );
};

const Value = ({ cell, isThere }: { readonly cell: Cell | undefined; readonly isThere: boolean }) => {
  if (!isThere) return <span class="soft">no record</span>;
  if (!cell) return <span class="soft">no field</span>;
  const { text, look } = shown(cell);
  return <bdi class={`side-value is-${look}`}>{text}</bdi>;
};
