import { z } from 'zod';
import { Json, JsonObject } from '#shared/core/json.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { ID } from '../../../http/fields/id.ts';
import { pageFields, pageQuery, standardPage } from '../../../http/fields/paging.ts';
import { Message } from '../../../http/fields/response-parts.ts';
import { Title } from '../../../http/fields/text.ts';
import { WidgetType } from '../schemas.ts';
import { exampleBundle, exampleEntry, exampleInstallation, examplePreview } from './examples.ts';

export const EntryID = z.object({ libraryEntryID: idOf('libraryEntry') });

const Dependency = z.object({
  type: z.string().max(64),
  id: z.string().max(64),
  name: z.string().max(255).optional(),
  bundled: z.boolean().optional(),
});

const Item = z
  .object({
    type: z.literal('widget'),
    id: ID.describe('Only tells references apart: an installed widget gets an id of its own'),
    payload: z
      .object({
        widgetTitle: Title,
        widgetDescription: z.string().max(10_000).nullish(),
        widgetType: WidgetType,
        widgetConfig: JsonObject,
        refreshInterval: z.int().min(0).max(86_400).optional(),
      })
      .meta({ id: 'WidgetPayload' }),
    dependencies: z
      .array(Dependency.meta({ id: 'BundleDependency' }))
      .max(100)
      .optional(),
  })
  .meta({ id: 'WidgetItem' });
export type WidgetItem = z.output<typeof Item>;

const Bundle = z
  .object({
    bundleVersion: z.literal(1),
    generator: z.string().max(255).optional(),
    exportedAt: z.string().max(64).optional(),
    sourceTenant: Json.optional(),
    items: z.array(Item).length(1, 'must be exactly one widget'),
  })
  .meta({ id: 'WidgetBundle', examples: [exampleBundle] });
export type Bundle = z.output<typeof Bundle>;

/** The bundle as it is stored, without words about its source. */
export const StoredBundle = z.object({ bundleVersion: z.literal(1), items: z.array(Item).length(1) });

export const EntryCreate = z
  .object({ bundle: Bundle })
  .meta({ id: 'WidgetLibraryEntryCreate', examples: [{ bundle: exampleBundle }] });

export const EntryList = z.object({
  ...pageQuery(standardPage),
  search: z.string().max(255).optional().describe('A part of the title'),
});

export const Entry = z
  .object({
    id: z.uuid(),
    libraryEntryID: z.uuid(),
    widgetTitle: z.string(),
    widgetDescription: z.string().nullable(),
    widgetType: z.string(),
    isOwn: z.boolean().describe('This tenant has published it'),
    sourceTenantID: z.uuid().nullable().describe('For the tenant itself and for operators'),
    publishedByUserID: z.uuid().nullable().describe('For the tenant itself and for operators'),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'WidgetLibraryEntry', examples: [exampleEntry] });

export const Entries = z.object({ entries: z.array(Entry), ...pageFields }).meta({ id: 'WidgetLibraryPage' });
export const Published = z.object({ entry: Entry, message: Message });

const Reference = z.object({ type: z.string(), id: z.string() }).meta({ id: 'AssetReference' });

export const Preview = z
  .object({
    valid: z.boolean(),
    summary: z
      .object({ createCount: z.int(), warningCount: z.int(), missingDependencyCount: z.int() })
      .meta({ id: 'InstallationSummary' }),
    items: z.array(
      z
        .object({
          type: z.literal('widget'),
          id: z.uuid(),
          title: z.string(),
          action: z.literal('create'),
          warnings: z.array(z.string()),
          missingDependencies: z.array(Reference),
        })
        .meta({ id: 'InstallationItem' }),
    ),
  })
  .meta({ id: 'InstallationPreview', examples: [examplePreview] });

export const Installation = z
  .object({
    results: z.array(
      z.object({ type: z.literal('widget'), originalID: z.uuid(), newID: z.uuid() }).meta({ id: 'InstalledItem' }),
    ),
    skipped: z.array(Reference),
    warnings: z.array(z.string()),
    message: Message,
  })
  .meta({ id: 'Installation', examples: [exampleInstallation] });
