/** The language with its examples, from the service's tables: made by the build (visualize/vite.config.ts). */
declare module 'virtual:manual' {
  export interface ManualRow { readonly name: string; readonly syntax: string; readonly text: string; readonly examples: readonly { readonly query: string; readonly input?: string; readonly output: string }[] }
  export const chapters: readonly { readonly title: string; readonly rows: readonly ManualRow[] }[];
}
