/**
 * Runs probe-entry.ts as it is, in development; the built service starts probe-entry.js itself. A run of the tests
 * names a file that holds all of it.
 */
const bundle = process.env['LAKE_PROBE_ENTRY'];
if (bundle) await import(bundle);
else {
  const { register } = await import('tsx/esm/api');
  register();
  await import('./probe-entry.ts');
}
