/** What may name the folder of a lake. */
import { expect, test } from 'vitest';
import { lakeFolder } from '../../../src/commands/lake-folder.ts';

test('a name is a folder below the working one, or a path', () => {
  expect(lakeFolder('/a', 'b')).toBe('/a/b');
  expect(lakeFolder('/a', '/c')).toBe('/c');
  expect(lakeFolder('/a', '.')).toBe('/a');
});
test('nothing, as of a variable that is not set, is not the working folder', () => {
  expect(() => lakeFolder('/a', '')).toThrow(/^-lake is empty: it is the folder of a lake$/);
});
test.each(['http://127.0.0.1:9867', 's3://lakes/events', 'FILE:///a'])('%s is no folder of that name', (name) => {
  expect(() => lakeFolder('/a', name)).toThrow(
    `-lake ${name}: that is an address, not the folder of a lake (lake shell asks a service by -s, lake serve has a bucket by -store)`,
  );
});
