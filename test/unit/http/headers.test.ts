import { describe, expect, test } from 'vitest';
import { commitNote } from '../../../src/http/commit-note.ts';
import { parseMediaType } from '../../../src/http/bodies/media.ts';

test('media types are read without parameters and letter case, faults in the words of the reference', () => {
  expect(
    [
      'Application/JSON; charset=utf-8',
      'json',
      'application//json',
      'a b',
      'a/b c',
      '',
      '*/*',
      'application/json; charset',
    ].map(parseMediaType),
  ).toEqual([
    { type: 'application/json' },
    { type: 'json' },
    { fault: 'expected token after slash' },
    { fault: 'expected slash after first token' },
    { fault: 'unexpected content after media subtype' },
    { fault: 'no media type' },
    { type: '*/*' },
    { type: 'application/json' },
  ]);
});

describe('the commit header', () => {
  const latin = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  test('keys may have any case, text is UTF-8, unknown keys are ignored', () => {
    expect(commitNote({ 'superdb-commit': latin('{"Author":"café","BODY":"日本","extra":1}') })).toEqual({
      author: 'café',
      body: '日本',
    });
  });
  test('metadata is one SUP value: the first of the text, spelled anew', () => {
    expect(commitNote({ 'zed-commit': '{"meta":"{ a : 1 } {b:2}"}' })).toEqual({ meta: '{a:1}' });
  });
  test('empty, null and missing say nothing', () => {
    expect(
      [
        {},
        { 'superdb-commit': '' },
        { 'superdb-commit': 'null' },
        { 'superdb-commit': '{"author":null,"body":""}' },
      ].map(commitNote),
    ).toEqual([{}, {}, {}, {}]);
  });
  test('what is not JSON, not an object or not text is refused', () => {
    expect(() => commitNote({ 'superdb-commit': 'not json' })).toThrow(
      'load endpoint encountered invalid JSON in SuperDB-Commit header: ',
    );
    expect(() => commitNote({ 'superdb-commit': '[]' })).toThrow(
      'json: cannot unmarshal array into Go value of type api.CommitMessage',
    );
    expect(() => commitNote({ 'superdb-commit': '{"meta":{}}' })).toThrow(
      'json: cannot unmarshal object into Go struct field CommitMessage.Meta of type string',
    );
    expect(() => commitNote({ 'superdb-commit': '{"meta":"}"}' })).toThrow('invalid commit metadata in request');
  });
});
