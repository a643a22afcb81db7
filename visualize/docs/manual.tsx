/** The language: SQL's forms, operators and functions with their examples. A search looks through names, texts and examples. */
import { chapters, type ManualRow } from 'virtual:manual';

/** Rows that have all words of a search. */
export const foundRows = (search: string): readonly { readonly title: string; readonly rows: readonly ManualRow[] }[] => {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const has = ({ name, syntax, text, examples }: ManualRow): boolean => {
    const all = [name, syntax, text, ...examples.map(({ query }) => query)].join(' ').toLowerCase();
    return words.every((word) => all.includes(word));
  };
  return chapters.map(({ title, rows }) => ({ title, rows: rows.filter(has) })).filter(({ rows }) => rows.length > 0);
};

const Row = ({ row: { syntax, text, examples } }: { readonly row: ManualRow }) => (
  <div>
    <dt><code>{syntax}</code></dt>
    <dd>{text}{examples.map(({ query, input, output }) => (
      <pre key={query}>{query}{input !== undefined && `\n<<< ${input.trimEnd()}`}{output !== '' && `\n=> ${output.trimEnd()}`}</pre>
    ))}</dd>
  </div>
);

/** Chapters are open where there is a search. */
export const Manual = ({ search }: { readonly search: string }) => {
  const found = foundRows(search);
  return found.length === 0 ? null : (
    <section aria-labelledby="language">
      <h2 id="language" tabIndex={-1}>Language <span class="soft">What queries are made of, with examples</span></h2>
      {found.map(({ title, rows }) => (
        <article key={title} class="panel endpoint"><div class="inside">
          <details open={search !== ''}><summary>{title} <span class="soft">{rows.length}</span></summary><dl class="fields manual">{rows.map((row) => <Row key={`${row.name} ${row.syntax}`} row={row} />)}</dl></details>
        </div></article>
      ))}
    </section>
  );
};
