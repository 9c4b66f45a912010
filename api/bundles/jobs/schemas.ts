import { z } from 'zod';
import { Json } from '#shared/core/json.ts';
import { exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';
import { exampleImport } from '../examples.ts';
import { ImportBody, Imported, RolledBack } from '../schemas.ts';

export const ImportJobBody = ImportBody.extend({
  token: z
    .string()
    .max(128)
    .optional()
    .describe('Of the plan; then the import is refused if it is not as it was planned'),
}).meta({ id: 'ImportJobCreate', examples: [exampleImport] });

const exampleJob = {
  id: exampleIDs.importJobID,
  jobID: exampleIDs.importJobID,
  kind: 'import' as const,
  importID: null,
  status: 'RUNNING' as const,
  done: 120,
  total: 500,
  creatorID: exampleIDs.userID,
  createdByApiKeyID: null,
  createdAt: exampleTimes.createdAt,
  startedAt: exampleTimes.updatedAt,
  endedAt: null,
};

const exampleEnded = {
  ...exampleJob,
  status: 'COMPLETED' as const,
  done: 500,
  endedAt: exampleTimes.updatedAt,
  error: null,
  rollback: null,
  result: {
    importID: exampleIDs.importID,
    results: [
      {
        type: 'widget' as const,
        originalID: exampleIDs.widgetID,
        newID: exampleIDs.widgetID,
        action: 'create' as const,
      },
    ],
    skipped: [],
    warnings: [],
    message: '500 assets imported',
  },
};

const fields = {
  id: z.uuid(),
  jobID: z.uuid(),
  kind: z.enum(['import', 'rollback']),
  importID: z.uuid().nullable().describe('The import that the job rolls back'),
  status: z.enum(['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED']),
  done: z.int().describe('Assets that are written. They are there for others when all are'),
  total: z.int().nullable().describe('Assets that are to be written; before it is planned, the items of the bundle'),
  creatorID: z.uuid(),
  createdByApiKeyID: z.uuid().nullable(),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
};

export const ImportJobRecord = z.object(fields).meta({ id: 'ImportJob', examples: [exampleJob] });

export const ImportJobError = z
  .object({ code: z.string(), message: z.string(), details: Json.optional() })
  .meta({ id: 'ImportJobError' });

export const ImportJobEnded = z
  .object({
    ...fields,
    error: ImportJobError.nullable().describe('Why it has failed; nothing is imported then'),
    result: Imported.nullable().describe('As `executeImport` answers'),
    rollback: RolledBack.nullable().describe('As `rollBackImport` answers'),
  })
  .meta({ id: 'ImportJobEnded', examples: [exampleEnded] });
