import { z } from 'zod';
import { datasourceTypes } from '#shared/datasources/index.ts';
import { JsonObject } from '#shared/json.ts';
import { DatasourceItem } from '#shared/queues/datasource-metadata.ts';
import { FormsByType } from '../../http/form.ts';
import { ID } from '../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/paging.ts';

export const DatasourceID = z.object({ datasourceID: ID });

const Title = z.string().min(1).max(255);
const Type = z.enum(datasourceTypes, { error: `must be one of ${datasourceTypes.join(', ')}` });

const described = {
  datasourceDescription: z.string().max(10_000).nullish(),
  datasourceTags: z.array(z.string().min(1).max(100)).max(100).optional(),
  folderID: ID.nullish(),
};

export const DatasourceCreate = z.object({
  datasourceTitle: Title,
  datasourceType: Type,
  datasourceOptions: JsonObject,
  ...described,
});

/** Undefined leaves, null clears; options are given as a whole, with the mask where a secret stays. */
export const DatasourceUpdate = z.object({
  datasourceTitle: Title.optional(),
  datasourceType: Type.optional(),
  datasourceOptions: JsonObject.optional(),
  ...described,
});

export const DatasourceTest = z.object({
  datasourceType: Type,
  datasourceOptions: JsonObject,
  /** The stored one that a mask in the options stands for. */
  datasourceID: ID.nullish(),
});

export const DatasourceList = z.object({
  ...pageQuery(standardPage),
  search: z.string().max(255).optional(),
  folderID: ID.optional(),
  datasourceType: z.string().max(64).optional(),
});

export const SchemasQuery = z.object({ datasourceType: z.string().max(64).optional() });

const Step = z.string().min(1).max(1_000);

/** `?path=public&path=orders`: each a step further in. */
export const MetadataQuery = z.object({
  path: z
    .union([Step.transform((step) => [step]), z.array(Step).max(20)])
    .default([])
    .meta({ description: 'The steps from the top, one after the other' }),
});

export const Datasource = z.object({
  id: z.uuid(),
  datasourceID: z.uuid(),
  tenantID: z.uuid(),
  datasourceTitle: z.string(),
  datasourceDescription: z.string().nullable(),
  datasourceType: z.string(),
  /** Secrets are masked. */
  datasourceOptions: z.looseObject({}),
  datasourceTags: z.array(z.string()),
  /** What the last test of the stored options said. */
  connectionStatus: z.enum(['unknown', 'connected', 'failed']),
  testedAt: z.iso.datetime().nullable(),
  folderID: z.uuid().nullable(),
  creatorID: z.uuid(),
  createdByApiKeyID: z.uuid().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

export const Datasources = z.object({ datasources: z.array(Datasource), ...pageFields });

/** After a change: the datasource, and words for people. */
export const Changed = z.object({ datasource: Datasource, message: z.string() });

export const ConnectionResult = z.object({ connectionResult: z.literal(true), message: z.string() });

export const DatasourceSchemas = FormsByType;

export const Metadata = z.object({ path: z.array(z.string()), items: z.array(DatasourceItem) });

export const Usage = z.object({
  dataQueries: z.array(z.object({ dataQueryID: z.uuid(), dataQueryTitle: z.string() })),
  workflows: z.array(z.object({ workflowID: z.uuid(), workflowTitle: z.string() })),
  /** How many there are that the caller may not read, or that are beyond the first of a long list. */
  others: z.object({ dataQueries: z.int(), workflows: z.int() }),
});
