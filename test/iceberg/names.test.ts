/** What tables and warehouses are called: one rule, which no two names share. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { escapedName, prefixOf, tableNamed, warehouseNamed, warehouseOfPrefix } from '../../src/http/iceberg/names.ts';

describe('names', () => {
  test('letters, digits, _ and - stay, all else is written as its code point', () => {
    const names = ['events', 'Events-2', '_x', 'a.b', 'a b', 'ä', '日本', '😀', 'a/b', "a'b", '_x002e_', 'a_x002', ''];
    expect(names.map((name) => escapedName(name))).toEqual([
      'events',
      'Events-2',
      '_x',
      'a_x002e_b',
      'a_x0020_b',
      '_x00e4_',
      '_x65e5__x672c_',
      '_x1f600_',
      'a_x002f_b',
      'a_x0027_b',
      '_x005f_x002e_',
      'a_x002',
      '',
    ]);
  });

  test('every name comes back from its prefix', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.string({ unit: fc.constantFrom('_', 'x', '0', '4', '1', 'é', 'a'), minLength: 1, maxLength: 20 }),
    );
    fc.assert(
      fc.property(name, (pin) => {
        expect(warehouseOfPrefix(prefixOf({ pin }))).toEqual({ pin });
        expect(prefixOf({ pin })).toMatch(/^lake@[A-Za-z0-9_-]+$/);
      }),
    );
  });

  test('a table is found by what was listed, by its pool, and in lower case where that is of one pool', () => {
    const tables = ['a.b', 'a_x002e_b', 'Movies', 'X', 'x', 'Y', 'y'].map((name, i) => ({ pool: String(i), name }));
    const found = (asked: string) => tableNamed(tables, asked)?.name;
    expect(['a_x002e_b', 'a_x005f_x002e_b', 'a.b', 'movies', 'MOVIES', 'x', 'X', 'none', 'A.B'].map(found)).toEqual([
      'a.b',
      'a_x002e_b',
      'a.b',
      'Movies',
      'Movies',
      'x',
      'X',
      undefined,
      'a.b',
    ]);
    expect(tableNamed(tables.slice(5), 'Y')?.name).toBe('Y');
    expect(
      tableNamed(
        [
          { pool: '1', name: 'AB' },
          { pool: '2', name: 'Ab' },
        ],
        'ab',
      ),
    ).toBeUndefined();
  });

  test('a warehouse is the lake or the lake at a ref', () => {
    expect(['lake', 'lake@dev', 'lake@a@b', 'lake@', 'lakes', 'LAKE', ''].map((text) => warehouseNamed(text))).toEqual([
      {},
      { pin: 'dev' },
      { pin: 'a@b' },
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(prefixOf({ pin: '2026-11-28T07:00:00Z' })).toBe('lake@2026-11-28T07_x003a_00_x003a_00Z');
    expect(warehouseOfPrefix('lake@_xffffff_')).toEqual({ pin: '_xffffff_' });
  });
});
