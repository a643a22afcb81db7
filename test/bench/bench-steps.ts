/**
 * The bench's queries: each as SuperSQL, as DuckDB's SQL, and with its answer worked out in plain JavaScript while the
 * rows go by. A literal differs from run to run, so that nothing is answered from what was answered before.
 */

/** A row of events.ts; which fields there are depends on its kind. */
export interface Row {
  readonly ts: string;
  readonly kind: 'http' | 'conn' | 'alert';
  readonly uid: string;
  readonly user?: string;
  readonly method?: string;
  readonly status?: number;
  readonly bytes?: number;
  readonly dur?: number | null;
  readonly orig_bytes?: number;
  readonly resp_bytes?: number;
  readonly tags?: readonly string[];
  readonly severity?: number;
  readonly msg?: string;
}
/** What is known of the file before it is read through: its rows and some of them, spread evenly. */
export interface Sample {
  readonly rows: number;
  readonly picked: readonly Row[];
}
/** Takes the rows one by one; `right` tells whether an answer is the right one. */
interface Oracle {
  add?(row: Row): void;
  right(answer: readonly Answer[]): boolean;
}
export type Answer = Readonly<Record<string, unknown>>;
/** `alike`: DuckDB's answer has the same names and values, so that it is checked too. */
export interface StepRun {
  readonly query: string;
  readonly sql: string;
  readonly oracle: Oracle;
  readonly alike?: boolean;
}
interface Step {
  readonly name: string;
  readonly run: (run: number, sample: Sample) => StepRun;
}

/** Columns of DuckDB's table. */
const columns = [
  'ts',
  'kind',
  'uid',
  'src',
  'dst',
  'port',
  'proto',
  'orig_bytes',
  'resp_bytes',
  'dur',
  'user',
  'method',
  'path',
  'status',
  'bytes',
  'severity',
  'tags',
  'http',
  'msg',
];
/** A text in any column. (`columns(*)` in a condition would mean all of them.) */
const inAnyColumn = (text: string): string =>
  columns.map((name) => `coalesce("${name}"::varchar like '%${text}%', false)`).join(' or ');

const pool = 'bench';
const one = (answer: readonly Answer[]): Answer => answer[0] ?? {};
const close = (a: unknown, b: number): boolean => Math.abs(Number(a) - b) <= Math.abs(b) * 1e-9;

/** Counts by key; `right` compares all groups with the rows of an answer. */
const counting = (
  keysOf: (row: Row) => readonly (string | undefined)[],
  keyOf: (answer: Answer) => string,
  countMin = 0,
): Oracle => {
  const counts = new Map<string, number>();
  return {
    add: (row) => {
      for (const key of keysOf(row)) if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    right: (answer) => {
      const wanted = [...counts].filter(([, n]) => n > countMin);
      return (
        answer.length === wanted.length &&
        wanted.every(([key, n]) => answer.some((a) => keyOf(a) === key && a['n'] === n))
      );
    },
  };
};
/** Counts the rows that have it. */
const countOf = (has: (row: Row) => boolean): Oracle => {
  let n = 0;
  return {
    add: (row) => {
      if (has(row)) n++;
    },
    right: (answer) => answer.length === 1 && one(answer)['n'] === n,
  };
};

const hour = 3_600_000;
const spanOf = ({ rows }: Sample, run: number): readonly [string, string] => {
  const total = rows * 137;
  const low = Date.UTC(2026, 0, 1) + Math.floor(total * (0.3 + run / 50));
  return [new Date(low).toISOString(), new Date(low + Math.floor(total * 0.026)).toISOString()];
};

export const steps: readonly Step[] = [
  {
    name: 'count',
    run: (run) => ({
      query: `from ${pool} | n:=count() | put run:=${run}`,
      sql: `select count(*) n, ${run} from ev`,
      oracle: countOf(() => true),
      alike: true,
    }),
  },
  {
    name: 'count by low cardinality',
    run: (run) => ({
      query: `from ${pool} | n:=count() by kind | put run:=${run}`,
      sql: `select kind, count(*) n, ${run} from ev group by kind`,
      oracle: counting(
        (row) => [row.kind],
        (a) => String(a['kind']),
      ),
      alike: true,
    }),
  },
  {
    name: 'filter two fields, count by',
    run: (run) => {
      const status = [500, 404, 301, 200][run % 4]!;
      return {
        query: `from ${pool} | kind=='http' and status==${status} | n:=count() by method`,
        sql: `select method, count(*) n from ev where kind='http' and status=${status} group by method`,
        oracle: counting(
          (row) => [row.status === status ? row.method : undefined],
          (a) => String(a['method']),
        ),
        alike: true,
      };
    },
  },
  {
    name: 'sum and avg by 20k users, top 10',
    run: (run) => {
      const top = 10 + run;
      const groups = new Map<string, { sum: number; dur: number; n: number }>();
      return {
        query: `from ${pool} | s:=sum(bytes), d:=avg(dur) by user | sort -r s | head ${top}`,
        sql: `select "user", sum(bytes) s, avg(dur) d from ev group by 1 order by s desc nulls last limit ${top}`,
        alike: true,
        oracle: {
          add: ({ user, bytes, dur }) => {
            if (user === undefined) return;
            let group = groups.get(user);
            if (!group) groups.set(user, (group = { sum: 0, dur: 0, n: 0 }));
            group.sum += bytes!;
            group.dur += dur!;
            group.n++;
          },
          right: (answer) => {
            const wanted = [...groups.values()]
              .map(({ sum }) => sum)
              .sort((a, b) => b - a)
              .slice(0, top);
            return (
              answer.length === wanted.length &&
              answer.every((a, i) => {
                const group = groups.get(String(a['user']));
                return (
                  group !== undefined &&
                  a['s'] === wanted[i] &&
                  group.sum === a['s'] &&
                  close(a['d'], group.dur / group.n)
                );
              })
            );
          },
        },
      };
    },
  },
  {
    name: 'top 5 of all',
    run: (run) => {
      const top = 5 + run;
      let best: number[] = [];
      return {
        query: `from ${pool} | sort -r bytes | head ${top}`,
        sql: `select * from ev order by bytes desc nulls last limit ${top}`,
        alike: true,
        oracle: {
          add: ({ bytes = -1 }) => {
            if (best.length < top || bytes > best[top - 1]!)
              best = [...best, bytes].sort((a, b) => b - a).slice(0, top);
          },
          right: (answer) => answer.length === best.length && answer.every((a, i) => a['bytes'] === best[i]),
        },
      };
    },
  },
  {
    name: 'key range 2.6 %',
    run: (run, sample) => {
      const [low, high] = spanOf(sample, run);
      return {
        query: `from ${pool} | ts > '${low}' and ts < '${high}' | n:=count()`,
        sql: `select count(*) n from ev where ts > '${low}' and ts < '${high}'`,
        oracle: countOf(({ ts }) => ts > low && ts < high),
        alike: true,
      };
    },
  },
  {
    name: 'substring in any field',
    run: (run) => {
      const text = `rule ${17 + run}`;
      return {
        query: `from ${pool} | grep('${text}', this) | n:=count()`,
        sql: `select count(*) n from ev where ${inAnyColumn(text)}`,
        oracle: countOf(({ msg }) => msg?.includes(text) ?? false),
        alike: true,
      };
    },
  },
  {
    name: 'distinct count of all ids',
    run: (run) => {
      const seen = new Set<string>();
      return {
        query: `from ${pool} | n:=dcount(uid) | put run:=${run}`,
        sql: `select approx_count_distinct(uid) n, ${run} from ev`,
        // It is an estimate by its documentation.
        oracle: {
          ...(run === 0 && {
            add: ({ uid }: Row) => {
              seen.add(uid);
            },
          }),
          right: (answer) =>
            run > 0 ? Number(one(answer)['n']) > 0 : Math.abs(Number(one(answer)['n']) / seen.size - 1) < 0.05,
        },
      };
    },
  },
  {
    name: 'point look-up, not the key',
    run: (run, { picked }) => {
      const row = picked[run % picked.length]!;
      return {
        query: `from ${pool} | uid=='${row.uid}'`,
        sql: `select * from ev where uid='${row.uid}'`,
        oracle: { right: (answer) => answer.length === 1 && JSON.stringify(one(answer)) === JSON.stringify(row) },
      };
    },
  },
  {
    name: 'nested field and array',
    run: (run) => {
      const severity = -run;
      return {
        query: `from ${pool} | kind=='alert' and severity>=${severity} | unnest tags | n:=count() by tag:=this`,
        sql: `select t tag, count(*) n from (select unnest(tags) t from ev where kind='alert' and severity>=${severity}) group by t`,
        alike: true,
        oracle: counting(
          (row) => (row.severity !== undefined && row.severity >= severity ? row.tags! : []),
          (a) => String(a['tag']),
        ),
      };
    },
  },
  {
    name: 'expressions per row',
    run: (run) => {
      const more = 1 + run;
      let max = -Infinity;
      let sum = 0;
      return {
        query: `from ${pool} | kind=='conn' | put total:=orig_bytes+resp_bytes, rate:=(orig_bytes+resp_bytes)/(dur+${more}.) | m:=max(rate), s:=sum(total)`,
        sql: `select max((orig_bytes+resp_bytes)/(dur+${more}.)) m, sum(orig_bytes+resp_bytes) s from ev where kind='conn'`,
        alike: true,
        oracle: {
          add: ({ kind, orig_bytes, resp_bytes, dur }) => {
            if (kind !== 'conn') return;
            const total = orig_bytes! + resp_bytes!;
            if (dur !== null) max = Math.max(max, total / (dur! + more));
            sum += total;
          },
          right: (answer) => close(one(answer)['m'], max) && one(answer)['s'] === sum,
        },
      };
    },
  },
  {
    name: 'time bucket of a string',
    run: (run) => {
      const minutes = 60 + run;
      const buckets = new Set<number>();
      return {
        query: `from ${pool} | count() by bucket(ts::time, ${minutes}m) | n:=count()`,
        sql: `select count(*) n from (select time_bucket(interval ${minutes} minute, ts::timestamp), count(*) from ev group by 1)`,
        alike: true,
        oracle: {
          add: ({ ts }) => {
            buckets.add(Math.floor(Date.parse(ts) / ((minutes * hour) / 60)));
          },
          right: (answer) => one(answer)['n'] === buckets.size,
        },
      };
    },
  },
  {
    name: 'sort of one shape, last row',
    run: (run) => {
      const last = 1 + run;
      let best: Row[] = [];
      const before = (a: Row, b: Row): number => a.orig_bytes! - b.orig_bytes! || (a.uid < b.uid ? -1 : 1);
      return {
        query: `from ${pool} | kind=='conn' | sort orig_bytes, uid | tail ${last}`,
        sql: `select * from ev where kind='conn' order by orig_bytes desc, uid desc limit ${last}`,
        oracle: {
          add: (row) => {
            if (row.kind === 'conn' && (best.length < last || before(row, best[0]!) > 0))
              best = [...best, row].sort(before).slice(-last);
          },
          right: (answer) => JSON.stringify(answer) === JSON.stringify(best),
        },
      };
    },
  },
  {
    name: 'SQL group by, having',
    run: (run) => ({
      query: `select kind, method, count(*) as n, avg(dur) as d from ${pool} group by kind, method having count(*) > ${100 + run} order by kind, method`,
      sql: `select kind, method, count(*) n, avg(dur) d from ev group by kind, method having count(*) > ${100 + run} order by kind, method`,
      alike: true,
      oracle: counting(
        (row) => [`${row.kind} ${row.method ?? ''}`],
        (a) => `${String(a['kind'])} ${typeof a['method'] === 'string' ? a['method'] : ''}`,
        100 + run,
      ),
    }),
  },
  {
    name: 'self join of 5 % by id',
    run: (run) => ({
      query: `from ${pool} | kind=='alert' and severity>=${-run} | join (from ${pool} | kind=='alert') as {l,r} on l.uid==r.uid | n:=count()`,
      sql: `select count(*) n from ev l join ev r on l.uid=r.uid where l.kind='alert' and l.severity>=${-run} and r.kind='alert'`,
      alike: true,
      oracle: countOf((row) => row.severity !== undefined),
    }),
  },
  {
    name: 'first row',
    run: (run, { picked }) => ({
      query: `from ${pool} | head ${1 + run}`,
      sql: `select * from ev limit ${1 + run}`,
      oracle: {
        right: (answer) => answer.length === 1 + run && JSON.stringify(one(answer)) === JSON.stringify(picked[0]),
      },
    }),
  },
];
