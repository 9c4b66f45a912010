import { z } from 'zod';
import { Json, JsonObject } from '#shared/core/json.ts';
import { ID } from '../http/fields/id.ts';
import { Message } from '../http/fields/response-parts.ts';
import { bundledTypes } from './assets/bundle-types.ts';
import { MAX_ITEMS } from './assets/read-assets.ts';
import {
  exampleBundle,
  exampleChange,
  exampleExport,
  exampleImport,
  examplePlannedItem,
  examplePreviewItem,
  exampleRecord,
  exampleToken,
  exampleUnfollowed,
} from './examples.ts';

export const BundledType = z.enum(bundledTypes).meta({ id: 'BundledType' });

const Dependency = z.object({
  type: z.string().max(64).describe('Of an asset; `table`: a table of the tenant database, which no bundle holds'),
  id: z.string().max(255),
  name: z.string().max(255).optional(),
  bundled: z.boolean().optional().describe('The bundle holds it too'),
});

const payload = JsonObject.describe(
  'The fields of the body that creates the asset. Ids in it are those of items, or of what the tenant has. Secrets are masked.',
);
const itemID = ID.describe('Its key: stays the same in every tenant and in every export');
const MAX_DEPENDENCIES = 20_000;

export const BundleItem = z
  .object({
    type: BundledType,
    id: itemID,
    payload,
    dependencies: z
      .array(Dependency.meta({ id: 'BundleItemDependency' }))
      .max(MAX_DEPENDENCIES)
      .optional(),
  })
  .meta({ id: 'BundleItem' });
export type BundleItem = z.output<typeof BundleItem>;

export const Bundle = z
  .object({
    bundleVersion: z.literal(1),
    generator: z.string().max(255).optional(),
    exportedAt: z.string().max(64).optional().describe('Accepted, and not written: the same assets give the same text'),
    sourceTenant: Json.optional(),
    items: z.array(BundleItem).min(1).max(MAX_ITEMS),
  })
  .meta({ id: 'Bundle', examples: [exampleBundle] });
export type Bundle = z.output<typeof Bundle>;

/** The export of a bundle. Without `items`, it has all assets of the types that the caller may read. */
export const BundleExport = z
  .object({
    items: z
      .array(z.object({ type: BundledType, id: ID }).meta({ id: 'ExportedAsset' }))
      .min(1)
      .max(MAX_ITEMS)
      .optional(),
    types: z.array(BundledType).min(1).optional().describe('Of the assets to export without `items`; default: all'),
    withDependencies: z.boolean().default(true).describe('Adds what the assets need, as far as the caller may read it'),
    withFolders: z.boolean().default(true),
  })
  .meta({ id: 'BundleExport', examples: [exampleExport] });

const Unfollowed = z
  .object({
    type: BundledType.describe('Of the asset that is named'),
    path: z.array(z.union([z.string(), z.int()])).describe('Of the field in the payload'),
    template: z.string(),
    variable: z.string().nullable().describe('The variable that holds the id, if it is one'),
  })
  .meta({
    id: 'UnfollowedReference',
    description: 'A field that names an asset by a template, which a bundle neither holds nor remaps',
    examples: [exampleUnfollowed],
  });

export const Exported = z.object({
  bundle: Bundle,
  unfollowed: z
    .array(Unfollowed.extend({ id: z.uuid().describe('The key of the item') }).meta({ id: 'UnfollowedInItem' }))
    .describe('What the items name by templates and the bundle cannot follow'),
  message: Message,
});

const SecretValue = z
  .object({
    id: ID.describe('Of a datasource or a variable in the bundle'),
    path: z
      .array(z.union([z.string().max(255), z.int()]))
      .min(1)
      .max(20)
      .describe('Of its mask in the payload, as `missingSecrets` has it'),
    value: z.string().max(100_000),
  })
  .meta({ id: 'BundleSecret' });

const importFields = {
  bundle: Bundle,
  onConflict: z
    .enum(['skip', 'overwrite'])
    .default('skip')
    .describe('What becomes of assets that were changed here since the last import'),
  secrets: z
    .array(SecretValue)
    .max(10_000)
    .optional()
    .describe('Secrets of datasources and variables, which bundles do not hold'),
  ids: z
    .record(ID, ID)
    .optional()
    .describe('By ids that the bundle names and does not hold: the ids that this tenant has for them'),
};

export const ImportBody = z.object(importFields).meta({ id: 'BundleImportCreate', examples: [exampleImport] });
export type ImportBody = z.output<typeof ImportBody>;

export const ApplyBody = z
  .object({ ...importFields, token: z.string().max(128).describe('Of the plan') })
  .meta({ id: 'BundleApply', examples: [{ ...exampleImport, token: exampleToken }] });

const count = z.int();
const Summary = z
  .object({
    createCount: count,
    updateCount: count,
    unchangedCount: count,
    conflictCount: count,
    skipCount: count,
    warningCount: count,
    missingDependencyCount: count,
    missingSecretCount: count,
  })
  .meta({ id: 'BundleImportSummary' });

const valid = z
  .boolean()
  .describe('Whether the contents of all items can be saved. `warnings` of an item say what is wrong with it');
const BundlePath = z.array(z.union([z.string(), z.int()]));
const previewFields = {
  type: BundledType,
  id: z.uuid().describe('Its key'),
  title: z.string(),
  action: z
    .enum(['create', 'update', 'unchanged', 'conflict', 'skip'])
    .describe('`conflict`: changed here since the last import. `skip`: something that it needs is missing'),
  assetID: z.uuid().nullable().describe('Of the asset that is here'),
  warnings: z.array(z.string()),
  missingDependencies: z.array(z.object({ type: z.string(), id: z.string() }).meta({ id: 'MissingDependency' })),
  missingSecrets: z.array(BundlePath),
  unfollowed: z.array(Unfollowed).describe('What it names by templates, which is not remapped'),
  tables: z.array(z.string()).describe('The tables of the tenant database that it needs, which no bundle brings'),
};
export const PreviewItem = z.object(previewFields).meta({ id: 'BundlePreviewItem', examples: [examplePreviewItem] });
export const Preview = z
  .object({ valid, summary: Summary, items: z.array(PreviewItem), message: Message })
  .meta({ id: 'BundlePreview' });

export const PlannedChange = z
  .object({
    path: BundlePath,
    before: Json.optional().describe('Of texts, numbers and the like; absent if it is added'),
    after: Json.optional(),
  })
  .meta({ id: 'PlannedChange', examples: [exampleChange] });
export const Planned = z
  .object({
    token: z.string(),
    valid,
    summary: Summary,
    items: z.array(
      z
        .object({ ...previewFields, changes: z.array(PlannedChange) })
        .meta({ id: 'PlannedItem', examples: [examplePlannedItem] }),
    ),
    message: Message,
  })
  .meta({ id: 'BundlePlan' });

const itemKey = { type: BundledType, originalID: z.uuid().describe('Its key') };
export const Imported = z
  .object({
    importID: z.uuid().nullable().describe('For a rollback; null if nothing was changed'),
    results: z.array(
      z
        .object({ ...itemKey, newID: z.uuid(), action: z.enum(['create', 'update', 'unchanged']) })
        .meta({ id: 'ImportedItem' }),
    ),
    skipped: z.array(z.object({ ...itemKey, reason: z.string() }).meta({ id: 'SkippedItem' })),
    warnings: z.array(z.string()),
    message: Message,
  })
  .meta({ id: 'BundleImported' });

export const RolledBack = z
  .object({ removed: count, restored: count, message: Message })
  .meta({ id: 'BundleRolledBack' });

export const BundleImportRecord = z
  .object({
    id: z.uuid(),
    importID: z.uuid(),
    createdCount: count,
    updatedCount: count,
    rolledBackAt: z.iso.datetime().nullable(),
    rolledBackBy: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'BundleImportRecord', examples: [exampleRecord] });
