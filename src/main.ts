#!/usr/bin/env -S MALLOC_MMAP_THRESHOLD_=131072 node
/** Starts the program: the bundle of it that `npm run build` makes, or its modules as they are. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const bundle = fileURLToPath(new URL('../bundle/load.cjs', import.meta.url));
if (existsSync(bundle)) createRequire(import.meta.url)(bundle);
else await import('./program.ts');
