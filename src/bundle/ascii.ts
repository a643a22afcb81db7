/** Texts of bundles in ASCII alone. */
import type { Plugin } from 'vite';

/** A single character beyond Latin 1 makes the engine keep two bytes for each one of a file's text. */
export const ascii = (): Plugin => ({
  name: 'ascii',
  enforce: 'post',
  generateBundle: (_options, bundle) => {
    for (const part of Object.values(bundle))
      if (part.type === 'chunk')
        part.code = part.code.replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  },
});
