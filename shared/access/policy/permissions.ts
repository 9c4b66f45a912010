import { z } from 'zod';
import { quote } from '../../core/quote.ts';

/** All permissions, by resource. The resource is also the type in a rule's object, `<resource>:<id>`. */
export const catalogue = {
  ai: ['execute', 'chat', 'read', 'delete', 'approve'],
  apikey: ['list', 'create', 'read', 'update', 'delete'],
  appPage: ['list', 'create', 'read', 'update', 'delete', 'export'],
  audit: ['list'],
  bundle: ['preview', 'execute', 'export'],
  cronjob: ['list', 'create', 'read', 'update', 'delete'],
  dashboard: ['list', 'create', 'read', 'update', 'delete'],
  database: [
    'metadata',
    'execute',
    ...(['schemaList', 'schemaCreate', 'schemaRead', 'schemaUpdate', 'schemaDelete'] as const),
    ...(['tableList', 'tableCreate', 'tableRead', 'tableUpdate', 'tableDelete'] as const),
    ...(['rowList', 'rowCreate', 'rowRead', 'rowUpdate', 'rowDelete'] as const),
    ...(['triggerList', 'triggerCreate', 'triggerRead', 'triggerUpdate', 'triggerDelete'] as const),
  ],
  dataquery: ['list', 'create', 'read', 'update', 'delete', 'test', 'execute', 'export'],
  datasource: ['list', 'create', 'read', 'update', 'delete', 'test'],
  folder: ['list', 'create', 'update', 'delete'],
  listener: ['list', 'create', 'read', 'update', 'delete', 'execute', 'export'],
  permission: ['list'],
  role: ['list', 'create', 'read', 'update', 'delete'],
  tenant: ['read', 'update', 'delete'],
  user: ['list', 'create', 'read', 'update', 'delete'],
  variable: ['list', 'create', 'read', 'update', 'delete', 'use'],
  widget: ['list', 'create', 'read', 'update', 'delete', 'execute', 'export'],
  widgetLibrary: ['list', 'publish', 'unpublish', 'install'],
  workflow: ['list', 'create', 'read', 'update', 'delete', 'execute', 'test', 'export'],
} as const;

export type Resource = keyof typeof catalogue;

/** `<resource>.<action>`. */
export type Permission = { [R in Resource]: `${R}.${(typeof catalogue)[R][number]}` }[Resource];

/** The contract writes some resources with other capitals (`cronJob.create`): all are accepted, one form is stored. */
export const Permission = z.string().transform((text, check): Permission => {
  const [resource, action] = splitPermission(text);
  const permission = byName.get(`${objectType(resource)}.${action}`);
  if (permission) return permission;
  check.addIssue({ code: 'custom', message: notAPermission(text) });
  return z.NEVER;
});

/** Error message for a text that is not in the catalogue. */
export function notAPermission(text: string): string {
  return `expected a permission such as workflow.read, received ${quote(text)}`;
}

/** The type in the objects of a resource (`cronjob` of `cronJob`); undefined if there is no such resource. */
export function objectType(resource: string): Resource | undefined {
  return byLetters.get(resource.toLowerCase());
}

export function splitPermission(permission: string): [resource: string, action: string] {
  const [resource = '', ...action] = permission.split('.');
  return [resource, action.join('.')];
}

/** Safe: the keys are resources, which `Object.entries` does not say. */
const entries = Object.entries(catalogue) as [Resource, readonly string[]][];

const byLetters = new Map(entries.map(([resource]) => [resource.toLowerCase(), resource]));

/** All permissions, in the catalogue's order. The cast is safe: they are made of the catalogue. */
export const permissions = entries.flatMap(([resource, actions]) =>
  actions.map((action) => `${resource}.${action}`),
) as readonly Permission[];

const byName = new Map<string, Permission>(permissions.map((permission) => [permission, permission]));

/**
 * The permission whose objects a list contains; undefined for other permissions, and for the list of members, which every member could
 * open with the permission to read the own membership.
 */
export function readingFor(permission: string): Permission | undefined {
  const [resource, action] = splitPermission(permission);
  return action === 'list' && resource !== 'user' ? byName.get(`${resource}.read`) : undefined;
}

/** All actions on all objects of a type, also actions that are added later. */
export type ResourcePermission = `${Resource}.*`;

/** Permissions that a role or key may be granted: on all objects of a type, or `*` for everything. */
export type RolePermission = Permission | ResourcePermission | '*';

export const RolePermission = z.string().transform((text, check): RolePermission => {
  if (text === '*') return text;
  const [resource, action] = splitPermission(text);
  const type = objectType(resource);
  if (type && action === '*') return `${type}.*`;
  const known = Permission.safeParse(text);
  if (known.success) return known.data;
  check.addIssue({ code: 'custom', message: notAPermission(text) });
  return z.NEVER;
});

/** The rule that grants a permission. */
export function ruleOf(permission: RolePermission): { object: string; action: string } {
  if (permission === '*') return { object: '*', action: '*' };
  const [type, action] = splitPermission(permission);
  return { object: `${type}:*`, action };
}

/** Whether a permission is included in others. */
export function isCovered(permission: RolePermission, by: readonly RolePermission[]): boolean {
  const [resource] = splitPermission(permission);
  return by.some((granted) => granted === '*' || granted === permission || granted === `${resource}.*`);
}

/** A permission of a role on one asset; the action `*` means all actions. */
export interface AssetPermission {
  resourceType: Resource;
  resourceID: string;
  action: string;
}

export function isActionOf(resource: Resource, action: string): boolean {
  return action === '*' || byName.has(`${resource}.${action}`);
}
