#!/bin/sh
# Makes lake.json, the fixture of import.test.ts: a lake of SuperDB v0.2.0 (the program `super` of that version is
# $SUPER) with every type, branches, merges, deletes, reverts, a compaction and a vacuum, and what each commit answers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
samples=$here/../cases/formats/samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SUPER_DB="$work/lake" HOME="$work"
db() { "$SUPER" db "$@" > /dev/null; }
load() { use=$1; shift; printf '%s\n' "$*" | db load -use "$use" -user ann -message "$use gets $*" -; }
ids() { "$SUPER" db -s -c "from $1:objects | sort min | values ksuid(id)" | tr -d '"'; }
tip() { "$SUPER" db -s -c "from $1:branches | branch.name==\"$2\" | values ksuid(branch.commit)" | tr -d '"'; }

db init
db create -orderby k:asc types
for sample in values mixed columns nulls; do
  db load -use types@main -user "zoë" -meta "{of:\"$sample\",n:1::uint8}" "$samples/$sample.sup"
done
db create -orderby ts:desc work
load work@main '{ts:1,a:"x"}' '{ts:2,a:"y"}'
load work@main '{ts:3,a:"z"}'
load work@main '{ts:4,a:"gone"}'
db branch -use work@main trial
load work@trial '{ts:5,b:[1,2]}'
db delete -use work@main -where 'a=="y"'
db merge -use work@trial main
db delete -use work@main -where 'a=="gone"'
db vacuum -use work@main -f
load work@main '{ts:6}'
db revert -use work@main "$(tip work main)"
db compact -use work@main $(ids work@main | head -2)
db branch -use work@main deleted
db branch -use work@main -d deleted
# The same without a vacuum: what each of its commits answers is still there.
db create -orderby ts:desc kept
load kept@main '{ts:1,a:"x"}' '{ts:2,a:"y"}'
load kept@main '{ts:3,a:"z"}' '{ts:3}' 'null'
db branch -use kept@main trial
load kept@trial '{ts:5,b:[1,2]}'
db branch -use kept@trial twig
load kept@twig '{ts:6,c:|{"k":1}|}'
db delete -use kept@twig -where 'a=="x"'
db delete -use kept@main -where 'a=="y"'
db merge -use kept@trial main
load kept@main '{ts:7}'
db revert -use kept@main "$(tip kept main)"
db compact -use kept@main $(ids kept@main | head -2)
db delete -use kept@main -where 'ts==5'
load kept@main '{ts:8,a:"z"}'
db create -orderby ts:asc old
db rename old 'a new name'
db create -orderby ts:asc empty
db create dropped
db drop -f dropped

NODE_NO_WARNINGS=1 node --input-type=module - "$work/lake" "$here/lake.json" << 'JS'
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
const [, , lake, to] = process.argv;
const files = {};
for (const name of readdirSync(lake, { recursive: true }).sort())
  if (statSync(`${lake}/${name}`).isFile()) files[name] = readFileSync(`${lake}/${name}`).toString('base64');
const ask = (query) => spawnSync(process.env.SUPER, ['db', '-s', '-c', query], { encoding: 'utf8' });
const rows = (query) => ask(query).stdout.trimEnd().split('\n').filter(Boolean).map((row) => JSON.parse(row));
const names = rows('from :pools | sort name | values name');
const answers = [];
for (const pool of names) {
  const branches = rows(`from :branches | pool.name==${JSON.stringify(pool)} | sort branch.name | values branch.name`);
  const commits = new Set(branches.flatMap((b) => ask(`from "${pool}"@"${b}":log | has(author) | values id`).stdout.match(/0x[0-9a-f]{40}/g) ?? []));
  for (const at of [...branches, ...commits]) {
    const { status, stdout } = ask(`from "${pool}"@"${at}"`);
    const log = ask(`from "${pool}"@"${at}":log | has(author) | head 1 | values {author,date,message,meta}`).stdout;
    answers.push({ pool, at, ...(status === 0 ? { rows: stdout, log } : { missing: true, log }) });
  }
}
writeFileSync(to, `${JSON.stringify({ files, answers }, undefined, 1)}\n`);
JS
