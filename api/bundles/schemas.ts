import { z } from 'zod';
import { bundledTypes } from '#shared/bundles/types.ts';
import { Json, JsonObject } from '#shared/json.ts';
import { Message } from '../http/answer-parts.ts';
import { ID } from '../http/id.ts';
import { exampleBundle, exampleExport } from './examples.ts';
import { MAX_ITEMS } from './read-assets.ts';

export const BundledType = z.enum(bundledTypes).meta({ id: 'BundledType' });

const Dependency = z.object({
  type: z.string().max(64),
  id: z.string().max(64),
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
      .default([]),
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

/** Without `items`: all assets of the types that the caller may read. */
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

export const Exported = z.object({ bundle: Bundle, message: Message });
