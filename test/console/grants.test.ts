import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Grants, missingFor, needing, scopeOf, withNeeded, withScope } from '#ops/console/people/grants.ts';
import { expiresAt } from '#ops/console/people/key-expiry.ts';
import {
  fullWords,
  permissionWords,
  resourceOf,
  resourceWords,
  withoutEffect,
} from '#ops/console/people/permission-words.ts';
import { catalogue as byResource, permissions } from '#shared/access/policy/permissions.ts';

const catalogue: readonly string[] = permissions;
const none: Grants = { rolePermissions: [], assetPermissions: [] };
const on = (action: string, resourceID: string) => ({ resourceType: 'workflow', action, resourceID });

test('every permission and every type has words of its own', () => {
  expect(Object.keys(permissionWords).sort()).toEqual([...permissions].sort());
  expect(Object.keys(resourceWords).sort()).toEqual(Object.keys(byResource).sort());
  for (const resource of Object.keys(byResource)) {
    const words = Object.entries(permissionWords).filter(([name]) => resourceOf(name) === resource);
    expect(new Set(words.map(([, text]) => text)).size).toBe(words.length);
  }
  expect(fullWords('workflow.*')).toBe('Workflows and their runs: everything, also what is added later');
});

test('a role offers every permission that some operation asks for, and no other', () => {
  const root = join(import.meta.dirname, '../..');
  const paths = globSync('{api,shared,workers}/**/*.ts', { cwd: root });
  const sources = paths.map((path) => readFileSync(join(root, path), 'utf8')).join('\n');
  expect([...withoutEffect].sort()).toEqual(permissions.filter((name) => !sources.includes(`'${name}'`)).toSorted());
});

test('what a permission needs comes with it: on everything of its type, or on the same assets', () => {
  const all = withNeeded(none, 'workflow.execute', { scope: 'all', catalogue });
  expect(new Set(all.rolePermissions)).toEqual(new Set(['workflow.execute', 'workflow.read', 'workflow.list']));
  expect(all.assetPermissions).toEqual([]);

  const these = withNeeded(none, 'workflow.execute', { scope: 'these', ids: ['a', 'b'], catalogue });
  expect(these.rolePermissions).toEqual([]);
  expect(these.assetPermissions).toEqual([on('execute', 'a'), on('execute', 'b'), on('read', 'a'), on('read', 'b')]);
  expect(needing(these, 'workflow.read', catalogue)).toEqual(['workflow.execute']);
  expect(needing(these, 'workflow.execute', catalogue)).toEqual([]);

  const more = withNeeded({ ...none, assetPermissions: [on('read', 'c')] }, 'workflow.execute', {
    ...{ scope: 'these', ids: ['a'], catalogue },
  });
  expect(more.assetPermissions).toEqual([on('execute', 'a'), on('read', 'c'), on('read', 'a')]);
});

test('nothing is added to what a larger permission has already', () => {
  const readable: Grants = { rolePermissions: ['workflow.read'], assetPermissions: [] };
  const more = withNeeded(readable, 'workflow.execute', { scope: 'these', ids: ['a'], catalogue });
  expect(more).toEqual({ rolePermissions: ['workflow.read'], assetPermissions: [on('execute', 'a')] });
  const whole: Grants = { rolePermissions: ['workflow.*'], assetPermissions: [] };
  expect(missingFor(whole, 'workflow.execute', catalogue)).toEqual([]);
  expect(scopeOf(whole, 'workflow.execute')).toBe('all');
});

test('a role that was made without what it needs says what is missing', () => {
  const role: Grants = { rolePermissions: ['dataquery.execute'], assetPermissions: [on('execute', 'a')] };
  expect(missingFor(role, 'workflow.execute', catalogue)).toEqual(['workflow.read']);
  expect(missingFor(role, 'dataquery.execute', catalogue)).toEqual(['dataquery.read', 'dataquery.list']);
  expect(missingFor(role, 'workflow.update', catalogue)).toEqual([]);
});

test('a permission leaves the single assets when it is granted on all of them, and others stay', () => {
  const role: Grants = { rolePermissions: [], assetPermissions: [on('execute', 'a'), on('update', 'a')] };
  const all = withScope(role, 'workflow.execute', 'all');
  expect(all).toEqual({ rolePermissions: ['workflow.execute'], assetPermissions: [on('update', 'a')] });
  expect(withScope(all, 'workflow.execute', 'none').rolePermissions).toEqual([]);
});

test('rows of the database bring the way to them', () => {
  const role = withNeeded(none, 'database.rowUpdate', { scope: 'all', catalogue });
  expect([...role.rolePermissions].sort()).toEqual(
    ['rowList', 'rowUpdate', 'schemaList', 'tableList', 'tableRead'].map((name) => `database.${name}`),
  );
});

test('a key ends after its days, at the end of a day, or never; a day that is over is none', () => {
  const now = Date.parse('2026-11-28T10:00:00Z');
  expect(expiresAt({ lifetime: '90', date: '' }, now)).toEqual(new Date('2027-02-26T10:00:00Z'));
  expect(expiresAt({ lifetime: 'never', date: '2027-01-01' }, now)).toBeNull();
  for (const date of ['', '2026-11-27', '2026-13-40'])
    expect(expiresAt({ lifetime: 'date', date }, now)).toBeUndefined();
  expect(expiresAt({ lifetime: 'date', date: '2027-01-01' }, now)).toEqual(new Date('2027-01-01T23:59:59'));
});
