import { z } from 'zod';
import { Settings } from '#shared/core/json.ts';
import { looseObject } from '#shared/core/record.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { datasourceTypes } from '#shared/datasources/types/index.ts';
import { DatasourceItem } from '#shared/messaging/queues/datasource-metadata.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { Message, WorkflowReference } from '../../http/fields/response-parts.ts';
import { FormsByType } from '../../http/forms/form.ts';
import {
  exampleDatasource,
  exampleDatasourceCreate,
  exampleDatasourceTest,
  exampleDatasourceUpdate,
  exampleItems,
  exampleTables,
  exampleUsage,
} from './examples.ts';

export const DatasourceID = z.object({ datasourceID: idOf('datasource') });

const Title = z.string().min(1).max(255);
const Type = z.enum(datasourceTypes);

const described = {
  datasourceDescription: z.string().max(10_000).nullish(),
  datasourceTags: z.array(z.string().min(1).max(100)).max(100).optional(),
  folderID: idOf('folder').nullish(),
};

export const DatasourceCreate = z
  .object({
    datasourceTitle: Title,
    datasourceType: Type,
    datasourceOptions: Settings,
    ...described,
  })
  .meta({ id: 'DatasourceCreate', examples: [exampleDatasourceCreate] });

/**
 * Absent fields stay as they are, null clears a field; options are replaced as a whole, with the mask where a secret
 * stays.
 */
export const DatasourceUpdate = z
  .object({
    datasourceTitle: Title.optional(),
    datasourceType: Type.optional(),
    datasourceOptions: Settings.optional(),
    ...described,
  })
  .meta({ id: 'DatasourceUpdate', examples: [exampleDatasourceUpdate] });

export const DatasourceTest = z
  .object({
    datasourceType: Type,
    datasourceOptions: Settings,
    datasourceID: idOf('datasource')
      .nullish()
      .describe('The stored datasource whose secrets a mask in the options stands for'),
  })
  .meta({ id: 'DatasourceTest', examples: [exampleDatasourceTest] });

export const DatasourceList = z.object({
  ...pageQuery(standardPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
  datasourceType: z.string().max(64).optional(),
});

export const SchemasQuery = z.object({ datasourceType: z.string().max(64).optional() });

const Step = z.string().min(1).max(1_000);

/** `?path=public&path=orders`: each step is a level deeper. */
export const MetadataQuery = z.object({
  path: z
    .union([Step.transform((step) => [step]), z.array(Step).max(20)])
    .default([])
    .meta({ description: 'The steps from the top, one after the other' }),
});

export const Datasource = z
  .object({
    id: z.uuid(),
    datasourceID: z.uuid(),
    tenantID: z.uuid(),
    datasourceTitle: z.string(),
    datasourceDescription: z.string().nullable(),
    datasourceType: z.string(),
    datasourceOptions: looseObject({}).describe('Secrets are masked'),
    unreadableSecrets: z
      .array(z.string())
      .describe('Paths of secrets in the options that were sealed with a key that is not here: give them again'),
    datasourceTags: z.array(z.string()),
    connectionStatus: z
      .enum(['unknown', 'connected', 'failed'])
      .describe('The result of the last test of the stored options'),
    testedAt: z.iso.datetime().nullable(),
    folderID: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Datasource', examples: [exampleDatasource] });

export const Datasources = z.object({ datasources: z.array(Datasource), ...pageFields }).meta({ id: 'DatasourcePage' });

/** Answer to a change: the datasource, and a message to show. */
export const Changed = z.object({ datasource: Datasource, message: Message });

export const ConnectionResult = z.object({ connectionResult: z.literal(true), message: Message });

export const DatasourceSchemas = FormsByType;

export const Metadata = z
  .object({ path: z.array(z.string()), items: z.array(DatasourceItem.meta({ id: 'DatasourceItem' })) })
  .meta({ id: 'DatasourceMetadata', examples: [{ path: ['public'], items: exampleItems }] });

const TableColumn = z.object({ name: z.string(), type: z.string() }).meta({ id: 'DatasourceTableColumn' });

const Table = z
  .object({
    path: z.array(z.string()).describe('The steps to the table, such as its schema and its name'),
    columns: z.array(TableColumn),
  })
  .meta({ id: 'DatasourceTable' });

export const Tables = z
  .object({ tables: z.array(Table), isWhole: z.boolean().describe('Whether there are no other tables') })
  .meta({ id: 'DatasourceTables', examples: [exampleTables] });

const UsingQuery = z.object({ dataQueryID: z.uuid(), dataQueryTitle: z.string() }).meta({ id: 'DataQueryReference' });

export const Usage = z
  .object({
    dataQueries: z.array(UsingQuery),
    workflows: z.array(WorkflowReference),
    others: z.object({ dataQueries: z.int(), workflows: z.int() }).meta({
      id: 'HiddenUsage',
      description: 'How many more there are: the caller may not read them, or the list is too long',
    }),
  })
  .meta({ id: 'DatasourceUsage', examples: [exampleUsage] });
