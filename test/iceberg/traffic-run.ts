/** Prints what engines fetch: `npm run engines:traffic [ROWS]`, with `ICEBERG_PYTHON` (traffic.ts). */
import { measureTraffic, trafficLines } from './traffic.ts';

const rows = Number(process.argv[2] ?? 1_000_000);
const python = process.env['ICEBERG_PYTHON'] ?? '';
for (const line of trafficLines(await measureTraffic({ rows, python }))) process.stdout.write(`${line}\n`);
