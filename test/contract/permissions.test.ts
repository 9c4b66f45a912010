import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { permissions } from '#shared/access/policy/permissions.ts';

const root = join(import.meta.dirname, '../..');

/** Permissions of the contract without an operation. What `ai.chat` and `ai.delete` would allow needs `ai.execute`. */
const withoutOperation = [
  'ai.chat',
  'ai.delete',
  'database.schemaRead',
  'database.schemaUpdate',
  'database.rowRead',
  'database.triggerUpdate',
];

test('every permission is checked somewhere: granting another would have no effect', () => {
  const paths = globSync('{api,shared,workers}/**/*.ts', { cwd: root });
  const sources = paths.map((path) => readFileSync(join(root, path), 'utf8')).join('\n');
  const unchecked = permissions.filter((permission) => !sources.includes(`'${permission}'`));

  expect(paths.length).toBeGreaterThan(300);
  expect(unchecked.sort()).toEqual(withoutOperation.toSorted());
});
