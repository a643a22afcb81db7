/** Runs entry.ts as it is, in development and tests; the built service starts entry.js itself. */
import { register } from 'tsx/esm/api';

register();
await import('./entry.ts');
