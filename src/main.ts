#!/usr/bin/env node
/**
 * The launcher: it sets what can only be set before anything else is there, the C library's allocator and the engine's
 * options, and starts the program: the bundle of it that `npm run build` makes, or its modules as they are.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { fixThreshold, isOursToFix } from './allocator.ts';
import { engineFlags } from './engine-flags.ts';

if (isOursToFix(process)) fixThreshold();
for (const flag of engineFlags) setFlagsFromString(flag);

const bundle = fileURLToPath(new URL('../bundle/load.cjs', import.meta.url));
if (existsSync(bundle)) createRequire(import.meta.url)(bundle);
else await import('./program.ts');
