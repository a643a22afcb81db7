/** Configurations to copy, from the manual: made by the build (visualize/vite.config.ts). */
declare module 'virtual:recipes' {
  import type { Recipe } from '../../docs/recipes.ts';
  export const recipes: readonly Recipe[];
}
