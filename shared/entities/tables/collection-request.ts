import type { JsonObject } from '../../core/json.ts';
import type { IterationPath } from '../../workflow/progress/iteration-path.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** A question a run asks a person, and the answer. */
export const CollectionRequestSchema = defineEntity({
  name: 'CollectionRequest',
  tableName: 'collection_request',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    instanceID: p.uuid(),
    /** The workflow of the run, which a trigger of the database copies; null for the test of an unsaved graph. */
    workflowID: p.uuid().nullable(),
    nodeID: p.text(),
    iteration: p.integer(),
    /** The loop iterations in which the node asks, as `pathKey` writes them. */
    path: p.text(),
    frame: p.json().$type<IterationPath>().nullable(),
    status: p.string().$type<'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELLED'>(),
    collectionType: p.string(),
    collectionConfig: p.json().$type<JsonObject>(),
    submittedData: p.json().$type<JsonObject>().nullable(),
    submittedBy: p.uuid().nullable(),
    expiresAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

export class CollectionRequest extends CollectionRequestSchema.class {}
CollectionRequestSchema.setClass(CollectionRequest);
