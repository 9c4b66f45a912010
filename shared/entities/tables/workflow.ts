import type { JsonObject } from '../../core/json.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** A workflow's names and options; its graphs are its versions. */
export const WorkflowSchema = defineEntity({
  name: 'Workflow',
  tableName: 'workflow',
  filters: tenantFilter,
  properties: {
    ...owned,
    title: p.string(),
    workflowDescription: p.text().nullable(),
    /** The options of the published version, read by what starts the workflow: sub-workflows, failure handlers, cron jobs. */
    workflowOptions: p.json().$type<JsonObject>(),
    /** The published version, which is executed; null while the workflow has drafts only. */
    versionID: p.uuid().nullable(),
    isDisabled: p.boolean().default(false),
    /** Whether clients of models get it as a tool of its own. */
    isOfferedAsTool: p.boolean().default(false),
    /** The time since which the workflow is paused: no run begins, except those that other runs start. */
    pausedAt: p.datetime().nullable(),
  },
});

export class Workflow extends WorkflowSchema.class {}
WorkflowSchema.setClass(Workflow);
