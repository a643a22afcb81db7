/** The campaign's totals as the README gives them. */
import type { Totals } from './campaign.ts';

const texts: Readonly<Record<string, string>> = {
  kills:
    'named kill points, one after the other in random scripts of commits, group commits, deletes, updates, upserts, merges, reverts and picks (by objects and by records), transactions, resets, tags, protections, compactions, vacuums, pools and starts',
  renditions:
    'SIGKILL of the service where it makes, names or removes the files of an Iceberg table: what the table names is whole and has the rows of its commits',
  outages:
    'the power goes after a system call of a service that makes the files of Iceberg tables: what rows of the tables name is there, byte by byte',
  shortages:
    'the n-th call on the files of Iceberg tables fails (EIO, ENOSPC, EMFILE, short writes): requests are answered with the reason, the tables are right when asked for again and at the next start',
  sigkill: 'SIGKILL of the service under 32 writers and 8 readers',
  power: 'the power goes after a system call: what was not synced is gone, there, or torn at 512 or 4,096 bytes',
  faults:
    "the n-th read, write, sync, open, mkdir, rename or unlink of the lake's files fails (EIO, ENOSPC, EMFILE, short writes)",
  objects: 'damaged data objects: the right rows, or an error that names the object',
  tables: 'tables that are damaged or lost: they come back by themselves, from base and log',
  logs: 'damaged and lost segments and bases, beside their tables and without, with bases of other lakes among them, in folders that were renamed: named, never served, what is whole comes back by `lake fsck -repair`',
  forged:
    "rows that are the lake's own bytes, or records of it as far as they can be made without the salt, with clean stops, kills and power cuts between: nothing is read that was not committed",
  laws: 'random histories beside a model',
  floods:
    'drips, floods, requests given up, answers nobody reads and half-open connections of 30 to 90 clients, beside one that behaves, which must succeed; afterwards the service holds nothing for them',
  rotation:
    "an issuer's keys come, go, return and are replaced: tokens and sessions of those that went are refused after `-auth.jwks.ttl`, no others",
  rewrites:
    'random histories of rewritten objects beside a model of all courses that their rows may have taken: what a merge or a revert does is right in each, what it refuses is wrong in one',
  growing: 'queries whose values grow: the service keeps to `-memory` and 256 MB, answers or says why not, and goes on',
  arguments: 'functions of one argument that is very long: as in `growing`, with the default `-memory`',
  clocks: 'histories under a clock in 1970, 2014 or 2150 that jumps, also between starts',
  flips: 'every bit of compressed bodies flipped: each content coding, page codec and kind of frame',
  large:
    'bodies that are large in one piece, or of very many shapes, of every format: the service with default options stays within `-memory` and 256 MiB, and commits all rows or names the limit',
  mixes:
    'up to 18 clients with loads, upserts, updates, deletes, exports and queries that hold all they may, over 1,000,000 rows: each request ends or is refused for memory, the process stays within 600 MiB, no row is doubled or missing',
  buckets:
    'a bucket loses, swaps and damages segments, bases and objects, also with those of another lake; opened from nothing, as a replica and from the folder: all that was acknowledged, or refused by the name of what is wrong',
  proxied:
    'the n-th request to the bucket fails (500, 503, reset, stall, cut body, lost answer, old listing), once or from there on: tried again within bounds, or a clear error; what was acknowledged is in the bucket, and no commit names an object that is not',
  takeovers:
    'the writer of a bucket is killed under 16 writing clients and its folder deleted, half of the times with a standby: nothing acknowledged is lost, nothing is there twice, a replica ends at the same tip, ids and rows',
  losses:
    'the same with `-store.ack local`: what is lost is the end of what was acknowledged, and the log of the service that goes on says so',
  twins:
    'the writer of a bucket is stopped (SIGSTOP) at its work under 16 clients and resumed when another one writes: one history, and each write to it is refused by the name of the writer',
  syslog:
    'SIGTERM and SIGKILL while 100 connections of syslog send: what was sent and closed before the SIGTERM is there, what a query had seen before the SIGKILL; each message once',
  times:
    'texts and numbers of all centuries and sizes through every conversion to a time: the right nanosecond, or as they came',
  wordings:
    'rows with the ends of every type, filtered by constants at and beyond them in several wordings and places (as loaded, rewritten, at a commit), partitions of windows beside groups, and joins by keys of several types beside their comparison one by one: one answer',
  statements:
    'INSERT, UPDATE, DELETE and MERGE INTO with random conditions beside a list of rows: the pool holds the same, and what would change a row twice is refused',
  updates:
    '64 clients change the same records by SQL and by filter, some while the service is killed: each change that was acknowledged is in each of its records once',
  transfers:
    '16 clients move amounts between accounts of several pools by transactions, some while the service is killed: every query sees the same sum, no client gets an error that asks it to retry, a move that was acknowledged is on both accounts',
  versions:
    'histories of a pool under every verb over HTTP, often two merges, reverts or picks at once: each commit has the rows that its parent and the change come to, each refusal is right',
  copies:
    'engines ask for Iceberg tables and the folder is cloned beside loads, compactions, vacuums and pools that go and come: each ask is answered, what it names is there, each clone is sound and of one moment',
  names:
    'hostile names of pools, branches, tags and fields by every door and through every format with types, and answers read by ranges while their pool changes',
  fuzz: 'hostile inputs for every reader, coding and the compiler of queries; random queries checked by laws and beside DuckDB',
};

export const totalsTable = (totals: Totals): string =>
  [
    '| Part | What | Counted | Failures |',
    '|---|---|---|---|',
    ...Object.entries(totals).map(([part, { counts, failures }]) => {
      const counted = Object.entries(counts)
        .filter(([what]) => what !== 'not reached' && !/ ms$|^(peak|rest) MB$/.test(what))
        .map(([what, n]) => `${n.toLocaleString('en-US')} ${what}`);
      return `| \`${part}\` | ${texts[part] ?? part} | ${counted.join(', ')} | ${failures.length} |`;
    }),
  ].join('\n');
