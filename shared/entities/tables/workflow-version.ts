import { newID } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** A graph as it was saved. A trigger refuses changes to it: runs refer to a version, so editing a workflow changes no run. */
export const WorkflowVersionSchema = defineEntity({
  name: 'WorkflowVersion',
  tableName: 'workflow_version',
  filters: tenantFilter,
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => newID()),
    tenantID: p.uuid(),
    /** Null for the graph of an unsaved test. */
    workflowID: p.uuid().nullable(),
    /** Counts the versions of a workflow from 1; the highest is the latest. */
    number: p.integer().nullable(),
    label: p.string().nullable(),
    /** Null for versions that were saved before the creator was recorded. */
    creatorID: p.uuid().nullable(),
    createdByApiKeyID: p.uuid().nullable(),
    /** When it was last made the version that is executed, and by which user. */
    publishedAt: p.datetime().nullable(),
    publishedBy: p.uuid().nullable(),
    /** When it ceased to be the published version; null while it is. Written by a trigger, and renewed when a run names the version. */
    supersededAt: p.datetime().nullable(),
    nodes: p.json().$type<JsonObject[]>(),
    edges: p.json().$type<JsonObject[]>(),
    options: p.json().$type<JsonObject>(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class WorkflowVersion extends WorkflowVersionSchema.class {}
WorkflowVersionSchema.setClass(WorkflowVersion);
