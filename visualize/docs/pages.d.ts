/** The manual, from its Markdown: made by the build (visualize/vite.config.ts). */
declare module 'virtual:manual' {
  import type { ManualPage } from './markdown.ts';
  export const pages: readonly ManualPage[];
}
