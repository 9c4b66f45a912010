import { describe, expect, test } from 'vitest';
import {
  catalogue,
  objectType,
  Permission,
  permissions,
  RolePermission,
  splitPermission,
} from '#shared/access/policy/permissions.ts';

describe('the catalogue of permissions', () => {
  test('every permission of the contract is in it', () => {
    const named = [
      'ai.execute',
      'audit.list',
      'dataquery.execute',
      'workflow.execute',
      'workflow.create',
      'cronjob.create',
    ];

    for (const name of named) expect(permissions).toContain(name);
  });

  test('every resource of the contract is in it', () => {
    const named =
      'ai apikey appPage audit bundle cronjob dataquery datasource folder listener permission role tenant user widget widgetLibrary workflow';

    for (const resource of named.split(' ')) expect(Object.keys(catalogue)).toContain(resource);
  });

  test('a permission has a resource and an action, and is listed once', () => {
    for (const permission of permissions) expect(permission).toMatch(/^[a-zA-Z]+\.[a-zA-Z]+$/);
    expect(new Set(permissions).size).toBe(permissions.length);
  });

  test('a resource is accepted in any letter case and kept in one form', () => {
    expect(Permission.parse('cronJob.create')).toBe('cronjob.create');
    expect(Permission.parse('cronjob.create')).toBe('cronjob.create');
    expect(Permission.parse('dataQuery.execute')).toBe('dataquery.execute');
    expect(objectType('cronJob')).toBe('cronjob');
    expect(objectType('spaceship')).toBeUndefined();
  });

  test('an unknown permission is refused', () => {
    for (const text of [
      '',
      'workflow',
      'workflow.',
      '.create',
      'workflow.fly',
      'workflow.create.x',
      'spaceship.list',
      'workflow.Create',
      'toString.x',
    ])
      expect(Permission.safeParse(text).success, text).toBe(false);
  });

  test('repeats a text that is not a permission, cut if it is long', () => {
    const messageOf = (text: string) => RolePermission.safeParse(text).error?.issues[0]?.message;
    expect(messageOf('workflow.fly')).toBe('expected a permission such as workflow.read, received "workflow.fly"');
    expect(messageOf('x'.repeat(60))).toContain(`received "${'x'.repeat(50)}"… (60 characters)`);
  });

  test('a permission splits at its dot', () => {
    expect(splitPermission('workflow.create')).toEqual(['workflow', 'create']);
  });
});
