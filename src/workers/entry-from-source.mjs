/**
 * Runs entry.ts as it is, in development; the built service starts entry.js itself. A run of the tests names a file
 * that holds all of entry.ts.
 */
const bundle = process.env['LAKE_WORKER_ENTRY'];
if (bundle) await import(bundle);
else {
  const { register } = await import('tsx/esm/api');
  register();
  await import('./entry.ts');
}
