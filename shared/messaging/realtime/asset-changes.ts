import { z } from 'zod';
import type { Resource } from '../../access/policy/permissions.ts';

/** Assets whose changes are sent to clients, with the resource that permissions name. */
export const changedAssets = {
  workflow: 'workflow',
  dataQuery: 'dataquery',
  datasource: 'datasource',
  cronJob: 'cronjob',
  listener: 'listener',
  widget: 'widget',
  dashboard: 'dashboard',
  appPage: 'appPage',
  folder: 'folder',
  role: 'role',
  apiKey: 'apikey',
  variable: 'variable',
} as const satisfies Record<string, Resource>;

export type ChangedAsset = keyof typeof changedAssets;

/** Sent to `tenant:<tenantID>` as `asset_changed`, to those who may list and read the asset. */
export const AssetChange = z.object({
  tenantID: z.uuid(),
  entity: z.enum(Object.keys(changedAssets) as [ChangedAsset, ...ChangedAsset[]]),
  id: z.uuid().nullable().describe('Null with `many`: the list is to be read again'),
  action: z.enum(['created', 'updated', 'deleted', 'many']),
  version: z.int().nullable().describe('Of an asset with versions, after the change'),
  changedBy: z.uuid().nullable().describe('The user; null: the service itself, several users, or not known'),
  at: z.iso.datetime(),
});
export type AssetChange = z.infer<typeof AssetChange>;
