import { z } from 'zod';
import { MAX_NUMBERED } from '#shared/access/audit/read-records.ts';
import { auditTypes } from '#shared/access/audit/records.ts';
import { JsonObject } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import { Moment } from '#shared/core/schema/moment.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { Flag } from '../../http/fields/flag.ts';
import { ID } from '../../http/fields/id.ts';
import { standardPage } from '../../http/fields/paging.ts';
import { exampleAuditLog, exampleSeal } from './examples.ts';

const Status = z.union([z.enum(['success', 'failure', 'unknown']), NumberText(z.int().min(100).max(599))], {
  error: ({ input }) => `expected success, failure, unknown or a status such as 404, received ${quote(input)}`,
});

export const AuditFilter = z.object({
  userID: idOf('user').optional().describe('Who did it; for an API key, its creator'),
  apiKeyID: idOf('apiKey').optional().describe('The API key by which it was done'),
  type: z.enum(auditTypes).optional().describe('What kind of action: a request, a delivery, a tick …'),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).optional(),
  path: z.string().min(1).max(500).optional().describe('The beginning of the path'),
  status: Status.optional().describe('`unknown` is an action that is under way, or whose process has died'),
  assetType: z.string().min(1).max(32).optional().describe('As paths name its id: `folder` for `{folderID}`'),
  assetID: ID.optional().describe('Requests that name the asset or have changed it: its history'),
  changes: Flag.describe('Returns only those that have changed an asset'),
  from: Moment.optional(),
  to: Moment.optional(),
});

const Cursor = z
  .string()
  .max(40)
  .transform((text, check) => {
    const seq = Buffer.from(text, 'base64url').toString();
    if (/^\d{1,18}$/.test(seq)) return seq;
    check.addIssue({
      code: 'custom',
      message: `expected the nextCursor of a page of this list, received ${quote(text)}`,
    });
    return z.NEVER;
  });

export const AuditList = AuditFilter.extend({
  page: NumberText(z.int().min(1).max(MAX_NUMBERED))
    .prefault(1)
    .describe(`Of the newest ${MAX_NUMBERED} entries; older ones are read by \`cursor\``),
  pageSize: NumberText(z.int().min(1).max(standardPage.max)).prefault(standardPage.pageSize),
  cursor: Cursor.optional().describe('The `nextCursor` of the page before'),
});

const Change = z
  .object({
    assetType: z.string(),
    assetID: z.uuid(),
    action: z.string().describe('`create`, `update` or `delete`'),
    changes: JsonObject.describe('By field, `from` what `to` what'),
  })
  .meta({ id: 'AuditChange' });

export const AuditLog = z
  .object({
    auditLogID: z.uuid(),
    tenantID: z.uuid(),
    type: z.enum(auditTypes),
    subType: z.string().describe('The method of a request, or what was done'),
    userID: z.uuid().nullable(),
    apiKeyID: z.uuid().nullable(),
    success: z.boolean().nullable().describe('Null while the outcome is unknown'),
    outcome: z.enum(['success', 'failure', 'unknown']),
    error: z.object({ status: z.int() }).meta({ id: 'AuditError' }).nullable(),
    path: z.string().nullable(),
    asset: z.object({ type: z.string(), id: z.uuid() }).meta({ id: 'AuditAsset' }).nullable(),
    changes: z.array(Change).describe('At most 20, with `assetID` those of this asset first; an export has all'),
    changeCount: z.int(),
    metadata: JsonObject.describe(
      'Request and response without secrets; a body of more than 2000 characters is cut. `app` is the connected app that has called over MCP, as it names itself',
    ),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'AuditLog', examples: [exampleAuditLog] });

export const AuditLogs = z
  .object({
    auditLogs: z.array(AuditLog),
    auditLogsCount: z
      .int()
      .optional()
      .describe(
        `Counted up to ${MAX_NUMBERED}, among the entries that pages with numbers reach; absent with \`cursor\``,
      ),
    nextPage: z.int().nullable(),
    pageSize: z.int(),
    nextCursor: z
      .string()
      .nullable()
      .describe('For `cursor`; null at the end of the trail. A page may be short, or empty, before it'),
  })
  .meta({ id: 'AuditLogPage' });

export const ExportQuery = AuditFilter.extend({
  format: z.enum(['csv', 'jsonl']).default('csv').describe('`jsonl` has one JSON object in each line'),
  bom: Flag.meta({ description: 'Begins CSV with a byte order mark, without which Excel reads no umlauts' }),
});

const Hash = z.string().superRefine((text, check) => {
  const message = `expected 64 hexadecimal digits, received ${quote(text)}`;
  if (!/^[0-9a-f]{64}$/.test(text)) check.addIssue({ code: 'custom', message });
});

export const Seal = z
  .object({
    number: z.int(),
    rowCount: z.int(),
    newestAt: z.iso.datetime(),
    hash: Hash.describe('SHA-256 over the hash before it and all rows of this seal'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'AuditSeal', examples: [exampleSeal] });

export const SealList = z.object({
  after: NumberText(z.int().min(0)).prefault(0).describe('Seals with a higher number'),
  limit: NumberText(z.int().min(1).max(1_000)).prefault(100),
});

export const Seals = z.object({ seals: z.array(Seal), nextAfter: z.int().nullable() }).meta({ id: 'AuditSeals' });

export const VerifyQuery = z
  .object({
    number: NumberText(z.int().min(1)).optional().describe('Of a seal that was kept elsewhere'),
    hash: Hash.optional().describe('Its hash, as it was kept'),
  })
  .superRefine(({ number, hash }, check) => {
    if ((number === undefined) === (hash === undefined)) return;
    const [path, other] = number === undefined ? ['number', 'hash'] : ['hash', 'number'];
    check.addIssue({ code: 'custom', path: [path], message: `is required together with ${other}` });
  });

const Problem = z
  .object({
    number: z.int(),
    message: z.string(),
    from: z.iso.datetime().nullable(),
    to: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AuditProblem' });

export const Verification = z
  .object({
    isIntact: z.boolean(),
    seals: z.int().describe('That were checked'),
    rows: z.int(),
    unsealedRows: z.int().describe('Younger than the last seal'),
    problem: Problem.nullable().describe('The first seal that does not fit its rows'),
  })
  .meta({ id: 'AuditVerification' });

export const AuditRetention = z
  .object({
    days: z.int().nullable().describe('As set here. Null: as set for the deployment'),
    inForce: z.number().describe('Days that entries are kept'),
    minDays: z.number().describe('The least that this deployment allows'),
    maxDays: z.number().describe('The most that this deployment allows'),
  })
  .meta({ id: 'AuditRetention', examples: [{ days: 180, inForce: 180, minDays: 1, maxDays: 400 }] });

export const AuditRetentionUpdate = z
  .object({ days: z.int().min(1).max(36_500).nullable() })
  .meta({ id: 'AuditRetentionUpdate', examples: [{ days: 180 }] });
