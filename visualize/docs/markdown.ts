/**
 * Pages of the manual out of Markdown, when the pages are built: HTML with an anchor for each heading and each row of a
 * table.
 */
import { Marked, type Tokens } from 'marked';

/** A line of the manual's contents. */
export interface Contents {
  readonly group: string;
  readonly file: string;
  readonly title: string;
  readonly text: string;
}
/** A page as the browser gets it. `name`: its anchor. */
export interface ManualPage {
  readonly name: string;
  readonly group: string;
  readonly title: string;
  readonly text: string;
  readonly html: string;
}

/** The lines of the contents (manual/README.md), in order: `- [Title](file.md): text` below a heading. */
export const contentsOf = (markdown: string): readonly Contents[] => {
  const found: Contents[] = [];
  let group = '';
  for (const line of markdown.split('\n')) {
    const heading = /^## (.*)$/.exec(line);
    const entry = /^- \[(.*)\]\(([\w-]+\.md)\): (.*)$/.exec(line);
    if (heading) group = heading[1];
    if (entry) found.push({ group, title: entry[1], file: entry[2], text: entry[3] });
  }
  return found;
};

/** The anchor of a heading, as GitHub makes it. */
export const slugOf = (title: string): string =>
  title
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');

const nameOf = (file: string): string => file.replace(/\.md$/, '');
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
const words = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** All pages. `picture`: the address of a picture, by its path from the manual's folder. */
export const manualOf = (
  contents: readonly Contents[],
  read: (file: string) => string,
  picture: (path: string) => string,
): readonly ManualPage[] => {
  const taken = new Set(contents.map(({ file }) => nameOf(file)));
  return contents.map(({ group, file, title, text }) => ({
    name: nameOf(file),
    group,
    title,
    text,
    html: htmlOf(read(file), { name: nameOf(file), taken, picture }),
  }));
};

interface Rendering {
  readonly name: string;
  readonly taken: Set<string>;
  readonly picture: (path: string) => string;
}

/** Anchors are of the whole manual: one that another page has gets the page's name before it. */
const htmlOf = (markdown: string, { name, taken, picture }: Rendering): string => {
  let section = name;
  let isFirst = true;
  const claim = (wanted: string): string => {
    const id = [wanted, `${name}-${wanted}`].find((each) => !taken.has(each)) ?? `${name}-${wanted}-${taken.size}`;
    taken.add(id);
    return id;
  };
  const marked: Marked = new Marked({
    renderer: {
      heading(token: Tokens.Heading): string {
        const inner = this.parser.parseInline(token.tokens);
        const id = isFirst ? name : claim(slugOf(words(inner)));
        isFirst = false;
        section = id;
        return `<h${token.depth + 1} id="${id}" tabindex="-1">${inner} <a class="anchor" href="#${id}" aria-label="Link to ${escaped(words(inner))}">#</a></h${token.depth + 1}>\n`;
      },
      table(token: Tokens.Table): string {
        const cells = (row: readonly Tokens.TableCell[]): readonly string[] =>
          row.map((cell) => this.parser.parseInline(cell.tokens));
        const head = cells(token.header);
        const rows = token.rows.map((row) => {
          const [first, ...others] = cells(row);
          const id = claim(`${section.replace(/s$/, '')}-${rowName(words(first))}`);
          return `<tr id="${id}" tabindex="-1"><th scope="row">${first}</th>${others.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
        });
        const top = head.some((cell) => cell !== '')
          ? `<thead><tr>${head.map((cell) => `<th scope="col">${cell}</th>`).join('')}</tr></thead>`
          : '';
        return `<div class="scroll" tabindex="0" role="group" aria-label="Table of ${section}"><table>${top}<tbody>${rows.join('')}</tbody></table></div>\n`;
      },
      code({ text }: Tokens.Code): string {
        return `<pre tabindex="0">${escaped(text)}</pre>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        const inner = this.parser.parseInline(tokens);
        const page = /^([\w-]+)\.md(?:#(.*))?$/.exec(href);
        if (page) return `<a href="#${page[2] ?? nameOf(page[1])}">${inner}</a>`;
        // What is beside the code is not among the service's pages.
        return /^(?:https?:|#)/.test(href) ? `<a href="${escaped(href)}">${inner}</a>` : inner;
      },
      image({ href, text }: Tokens.Image): string {
        return `<img src="${escaped(picture(href))}" alt="${escaped(text)}" loading="lazy">`;
      },
      html({ text }: Tokens.HTML | Tokens.Tag): string {
        return text.startsWith('<!--') ? '' : text;
      },
    },
  });
  return marked.parse(markdown, { async: false });
};

/** What a row is called by: the first name in its first cell. */
const rowName = (text: string): string => /[\p{L}\p{N}_][\p{L}\p{N}_.-]*/u.exec(text.toLowerCase())?.[0] ?? 'row';
