import { newID } from '../../ids.ts';
import type { JsonObject } from '../../json.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** A graph as it was saved. Never changed: runs point here, so editing a workflow changes no run. */
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
    nodes: p.json().$type<JsonObject[]>(),
    edges: p.json().$type<JsonObject[]>(),
    options: p.json().$type<JsonObject>(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class WorkflowVersion extends WorkflowVersionSchema.class {}
WorkflowVersionSchema.setClass(WorkflowVersion);
