/**
 * The texts for people: README.md, the pages of the manual in the order of its contents, and what stands beside the
 * code.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { contentsOf, slugOf } from '../../../visualize/docs/markdown.ts';

/** The repo's own folder, with a slash at the end. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));

const folder = 'visualize/docs/manual/';
/** Names of the manual's files, sorted. */
export const manualPages = {
  listed: contentsOf(readFileSync(`${root}${folder}README.md`, 'utf8'))
    .map(({ file }) => file)
    .sort(),
  onDisk: readdirSync(`${root}${folder}`)
    .filter((file) => file !== 'README.md')
    .sort(),
};

/** Paths from the repo's own folder. Their commands are run in this order, in one shell. */
export const documents: readonly string[] = [
  'README.md',
  ...contentsOf(readFileSync(`${root}${folder}README.md`, 'utf8')).map(({ file }) => `${folder}${file}`),
  `${folder}README.md`,
  'src/README.md',
  'src/lake/README.md',
  'test/README.md',
];

/** Anchors of a text's headings. */
export const headingsOf = (markdown: string): readonly string[] =>
  [...withoutCode(markdown).matchAll(/^#{1,6} (.*)$/gm)].map(([, title]) => slugOf(title!));
/** Links and pictures that lead to files of the repo, or within the text. */
export const linksOf = (markdown: string): readonly string[] =>
  [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^\w+:/.test(link));
const withoutCode = (markdown: string): string =>
  markdown.replaceAll(/```[\s\S]*?```/g, '').replaceAll(/`[^`\n]*`/g, (code) => (code.includes('](') ? '' : code));
