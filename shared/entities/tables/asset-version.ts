import { newID } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** The content of a dashboard or an app page as it was saved. Triggers measure it, and delete it with its asset. */
export const AssetVersionSchema = defineEntity({
  name: 'AssetVersion',
  tableName: 'asset_version',
  filters: tenantFilter,
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => newID()),
    tenantID: p.uuid(),
    assetID: p.uuid(),
    /** Counts the versions of an asset from 1. */
    number: p.integer(),
    title: p.string(),
    description: p.text().nullable(),
    config: p.json().$type<JsonObject>(),
    changeNote: p.text().nullable(),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class AssetVersion extends AssetVersionSchema.class {}
AssetVersionSchema.setClass(AssetVersion);
