import { z } from 'zod';
import { JsonObject } from '#shared/core/json.ts';
import { looseObject } from '#shared/core/record.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { pageFields, pageQuery, standardPage } from '../../../http/fields/paging.ts';
import { ChangedPaths } from '../../../http/fields/version-name.ts';
import { exampleDiff, exampleVersion, exampleVersionSummary } from '../examples.ts';

export const VersionID = z.object({ workflowID: idOf('workflow'), versionID: idOf('version') });

export const VersionList = z.object(pageQuery(standardPage));

export const VersionUpdate = z
  .object({ label: z.string().trim().min(1).max(255).nullable().describe('Null removes it') })
  .meta({ id: 'WorkflowVersionUpdate', examples: [{ label: 'Before the migration' }] });

export const VersionRestore = z
  .object({ draft: z.boolean().default(false).describe('Does not publish it') })
  .optional()
  .transform((body) => ({ draft: body?.draft ?? false }))
  .meta({ id: 'WorkflowVersionRestore', examples: [{ draft: true }] });

export const VersionSummary = z
  .object({
    versionID: z.uuid(),
    workflowID: z.uuid(),
    tenantID: z.uuid(),
    versionNumber: z.int().nullable().describe('Null for the graph of a test'),
    label: z.string().nullable(),
    isPublished: z.boolean().describe('It is the version that is executed'),
    publishedAt: z.iso.datetime().nullable().describe('When it last became that; null for a draft'),
    publishedBy: z.uuid().nullable(),
    creatorID: z.uuid().nullable(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'WorkflowVersionSummary', examples: [exampleVersionSummary] });

export const Versions = z
  .object({ versions: z.array(VersionSummary), ...pageFields })
  .meta({ id: 'WorkflowVersionPage' });

/** Stored JSON is not validated again: it was validated before it was stored. */
const Stored = looseObject({});

export const Version = VersionSummary.extend({
  workflowNodes: z.array(Stored),
  workflowEdges: z.array(Stored),
  workflowOptions: Stored,
}).meta({ id: 'WorkflowVersion', examples: [exampleVersion] });

const Change = z
  .object({
    id: z.string(),
    paths: ChangedPaths.describe(
      'What differs, at most 12 steps deep. A value in which more than 100 values differ is named itself; the empty path is the whole',
    ),
  })
  .meta({ id: 'GraphChange' });

const ListDiff = z
  .object({ added: z.array(JsonObject), removed: z.array(JsonObject), changed: z.array(Change) })
  .meta({ id: 'GraphListDiff', description: 'Nodes or edges that were added, removed or changed' });

export const VersionDiff = z
  .object({
    before: VersionSummary.nullable().describe('Null for the first version, which is compared with an empty graph'),
    after: VersionSummary,
    nodes: ListDiff,
    edges: ListDiff,
    options: ChangedPaths,
  })
  .meta({ id: 'WorkflowVersionDiff', examples: [exampleDiff] });
