/** The manual: its contents, a page of it, and what a search finds in all of them. */
import { useMemo } from 'preact/hooks';
import { pages } from 'virtual:manual';
import type { ManualPage } from './markdown.ts';

/** A heading with what stands below it, or a row of a table. */
interface Place {
  readonly page: ManualPage;
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly words: string;
}

/** The page that an anchor is on, by the name of the page or an id within it. */
export const pageWith = (anchor: string): ManualPage | undefined =>
  pages.find(({ name }) => name === anchor) ?? pages.find(({ html }) => html.includes(` id="${anchor}"`));

const textOf = (nodes: readonly Node[]): string =>
  nodes
    .map((node) => node.textContent ?? '')
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

const placesOf = (page: ManualPage): readonly Place[] => {
  const template = document.createElement('template');
  template.innerHTML = page.html;
  for (const anchor of template.content.querySelectorAll('.anchor')) anchor.remove();
  const place = (id: string, title: string, text: string): Place => ({
    page,
    id,
    title,
    text,
    words: `${page.title} ${title} ${text}`.toLowerCase(),
  });
  const rows = [...template.content.querySelectorAll('tr[id]')].map((row) =>
    place(row.id, textOf([...row.children].slice(0, 1)), textOf([...row.children].slice(1))),
  );
  const headings = [...template.content.querySelectorAll('h2[id], h3[id], h4[id]')].map((heading) => {
    const below: Node[] = [];
    for (let next = heading.nextElementSibling; next && !/^H[1-4]$/.test(next.tagName); next = next.nextElementSibling)
      if (!next.querySelector('tr[id]')) below.push(next);
    return place(heading.id, textOf([heading]), textOf(below));
  });
  return [...headings, ...rows];
};
let known: readonly Place[] | undefined;

/** Headings and rows that have all words of a search; those with a word in their title first. */
export const foundPlaces = (search: string): readonly Place[] => {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return [];
  const rank = ({ title }: Place): number => (words.some((word) => title.toLowerCase().includes(word)) ? 0 : 1);
  return (known ??= pages.flatMap(placesOf))
    .filter((place) => words.every((word) => place.words.includes(word)))
    .sort((a, b) => rank(a) - rank(b));
};

/** Places that are shown of one search; more say nothing more. */
const placesMax = 60;
const textMax = 240;
/** A text around the first word that was looked for. */
const excerpt = (text: string, search: string): string => {
  const word =
    search
      .toLowerCase()
      .split(/\s+/)
      .find((each) => each !== '') ?? '';
  const at = text.toLowerCase().indexOf(word);
  const from = at > textMax / 2 ? at - textMax / 3 : 0;
  return `${from > 0 ? '…' : ''}${text.slice(from, from + textMax)}${text.length > from + textMax ? '…' : ''}`;
};

/** What a search finds. */
export const Results = ({ places, search }: { readonly places: readonly Place[]; readonly search: string }) =>
  places.length === 0 ? null : (
    <section aria-labelledby="found">
      <h2 id="found">
        Manual{' '}
        <span class="soft">
          {places.length} {places.length === 1 ? 'place' : 'places'}
        </span>
      </h2>
      <ol class="panel results">
        {places.slice(0, placesMax).map(({ page, id, title, text }) => (
          <li key={id}>
            <a href={`#${id}`}>
              <span class="soft">
                {page.title}
                {title !== page.title && ' › '}
              </span>
              {title !== page.title && <strong>{title}</strong>}
            </a>
            <p class="soft">{excerpt(text, search)}</p>
          </li>
        ))}
      </ol>
      {places.length > placesMax && (
        <p class="soft">The first {placesMax} are shown: another word narrows the search.</p>
      )}
    </section>
  );

const groups: readonly string[] = [...new Set(pages.map(({ group }) => group))];

/** The pages by their groups, the one that is shown marked. */
export const Contents = ({ current }: { readonly current: string }) => (
  <>
    {groups.map((group) => (
      <section key={group}>
        <h2>{group}</h2>
        <ul>
          {pages
            .filter((page) => page.group === group)
            .map(({ name, title }) => (
              <li key={name}>
                <a href={`#${name}`} aria-current={name === current ? 'page' : undefined}>
                  {title.replaceAll('`', '')}
                </a>
              </li>
            ))}
        </ul>
      </section>
    ))}
  </>
);

/** The first page: what there is to read. */
export const Home = () => (
  <>
    {groups.map((group) => (
      <section key={group} aria-label={group}>
        <h2>{group}</h2>
        <ul class="panel results">
          {pages
            .filter((page) => page.group === group)
            .map(({ name, title, text }) => (
              <li key={name}>
                <a href={`#${name}`}>
                  <strong>{title.replaceAll('`', '')}</strong>
                </a>
                <p class="soft">{text}</p>
              </li>
            ))}
        </ul>
      </section>
    ))}
  </>
);

/** One page. */
export const Article = ({ page }: { readonly page: ManualPage }) =>
  useMemo(() => <article class="panel inside prose" dangerouslySetInnerHTML={{ __html: page.html }} />, [page]);
