/** The words of the language, from the service's tables: made by the build (visualize/vite.config.ts). */
declare module 'virtual:language' {
  export interface WordText {
    readonly name: string;
    readonly syntax: string;
    readonly text: string;
  }
  export const language: {
    readonly operators: readonly WordText[];
    readonly functions: readonly WordText[];
    readonly aggregates: readonly WordText[];
    readonly windows: readonly WordText[];
    readonly keywords: readonly string[];
  };
}
