import { runQuery } from './support/query-case.ts';
const input = '{k:1,v:1,w:2} {k:1,v:2,w:1} {k:2,v:null,w:1} {k:1,v:4,w:5}';
for (const q of process.argv.slice(2)) { console.log('>', q); try { process.stdout.write(await runQuery(q, input)); } catch (e) { console.log('ERR', (e as Error).message.slice(0, 300), JSON.stringify((e as any).errors ?? (e as any).faults ?? '').slice(0,300)); } }
