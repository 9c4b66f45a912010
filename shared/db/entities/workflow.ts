import type { JsonObject } from '../../json.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** A workflow's names and options; its graph is the version it points at. */
export const WorkflowSchema = defineEntity({
  name: 'Workflow',
  tableName: 'workflow',
  filters: tenantFilter,
  properties: {
    ...owned,
    title: p.string(),
    workflowDescription: p.text().nullable(),
    workflowOptions: p.json().$type<JsonObject>(),
    versionID: p.uuid(),
    isDisabled: p.boolean().default(false),
  },
});

export class Workflow extends WorkflowSchema.class {}
WorkflowSchema.setClass(Workflow);
