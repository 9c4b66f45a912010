import { describe, expect, test } from 'vitest';
import { type FieldAliases, withClientNames } from '#api/http/fields/field-aliases.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { invalid, mapPaths, type Path } from '#shared/core/schema/issues.ts';

const aliases: FieldAliases = {
  where: ['where', 'query'],
  options: ['query.options'],
  'rows.*.where': ['where', 'query'],
};

function spelled(path: Path, sent: JsonObject): unknown {
  const error = withClientNames(invalid([{ path: [...path], message: 'is wrong' }]), aliases, sent);
  return (error as AppError).message;
}

describe('a field is named as the client sent it', () => {
  test.each<[Path, JsonObject, string]>([
    [['where', 'id'], { where: {} }, 'where.id'],
    [['where', 'id'], { query: {} }, 'query.id'],
    [['where', 'id'], { where: null, query: {} }, 'query.id'],
    [['where', 'id'], { where: {}, query: {} }, 'where.id'],
    [['where', 'id'], {}, 'where.id'],
    [['options', 'sql'], { query: { options: {} } }, 'query.options.sql'],
    [['options', 'sql'], { options: {} }, 'options.sql'],
    [['rows', 1, 'where', 'id'], { rows: [{ where: {} }, { query: {} }] }, 'rows.1.query.id'],
    [['rows', 0, 'where', 'id'], { rows: [{ where: {} }, { query: {} }] }, 'rows.0.where.id'],
    [['rows', 2, 'where'], { rows: [] }, 'rows.2.where'],
    [['rows', 'x', 'where'], { rows: { x: { query: {} } } }, 'rows.x.where'],
    [['order', 0], { query: {} }, 'order.0'],
    [[], { query: {} }, ''],
  ])('%j of %j is %s', (path, sent, expected) => {
    expect(spelled(path, sent)).toBe(expected === '' ? 'is wrong' : `${expected}: is wrong`);
  });
});

describe('an error with renamed paths', () => {
  const shout = (path: Path) => path.map((key) => String(key).toUpperCase());

  test('keeps all other properties', () => {
    const cause = new Error('of the server');
    const before = invalid(
      [
        { path: ['a', 0], message: 'costs $& or $1', type: 'too_big' },
        { path: ['b'], message: 'is missing' },
      ],
      { code: 'DB_ERROR', summary: '2 of 3 are wrong', cause, details: { errors: [{ index: 1 }] } },
    );

    const after = mapPaths(before, shout);

    expect(before.message).toBe('2 of 3 are wrong; a.0: costs $& or $1');
    expect(after).toMatchObject({
      code: 'DB_ERROR',
      status: 400,
      retry: false,
      cause,
      message: '2 of 3 are wrong; A.0: costs $& or $1',
      details: {
        errors: [{ index: 1 }],
        issues: [
          { path: ['A', '0'], message: 'costs $& or $1', type: 'too_big' },
          { path: ['B'], message: 'is missing', type: 'custom' },
        ],
      },
    });
  });

  test('finds each issue after the one before', () => {
    const twice = invalid([
      { path: ['a'], message: 'is wrong' },
      { path: ['a'], message: 'is wrong' },
      { path: ['b'], message: 'is wrong' },
    ]);

    expect(mapPaths(twice, (path) => ['in', ...path])).toMatchObject({
      message: 'in.a: is wrong; in.a: is wrong; in.b: is wrong',
    });
  });

  test('is the same object when it has no issues', () => {
    for (const error of [
      new Error('a: b'),
      new AppError('CONFLICT', 'a: b'),
      new AppError('DB_ERROR', 'a', { details: { issues: 3 } }),
    ])
      expect(mapPaths(error, shout)).toBe(error);
  });
});
