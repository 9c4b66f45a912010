import { z } from 'zod';
import { countEntries, MAX_NUMBERED, readEntries } from '#shared/access/audit/read-records.ts';
import { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { inTransaction } from '#shared/db/pool.ts';
import { onClient } from '#shared/db/query.ts';
import { recordUpdate } from '../../audit/changes.ts';
import type { ApiContext } from '../../context/context.ts';
import { tenantRoute } from '../../context/routes.ts';
import { TenantID } from '../../http/fields/id.ts';
import { exportAuditLogs } from './export.ts';
import { presentEntry } from './present.ts';
import { AuditList, AuditLogs, AuditRetention, AuditRetentionUpdate, SealList, Seals } from './schemas.ts';
import { verifyAuditTrail } from './verify.ts';

const DAY_MS = 86_400_000;

const listAuditLogs = tenantRoute({
  name: 'listAuditLogs',
  method: 'get',
  path: '/audit',
  summary: 'List the audit trail',
  description:
    'Returns what was done in the tenant, newest first: who did it, when, from where, with which outcome, and what was changed from what to what.',
  permission: 'audit.list',
  query: AuditList,
  isSecret: true,
  response: AuditLogs,

  async handle({ query: { page, pageSize, cursor, ...filter }, tenantID }, { pool }) {
    const offset = cursor === undefined ? (page - 1) * pageSize : 0;
    if (offset + pageSize > MAX_NUMBERED)
      throw invalidField('page', `expected one of the newest ${MAX_NUMBERED} entries; older ones are read by cursor`);
    const filters = { tenantID, filter, before: cursor };
    const [{ entries, next }, count] = await Promise.all([
      readEntries(pool, filters, { limit: pageSize, offset }),
      cursor === undefined ? countEntries(pool, filters) : undefined,
    ]);
    return {
      auditLogs: entries.map((entry) => presentEntry(tenantID, entry)),
      ...(count !== undefined && { auditLogsCount: count }),
      nextPage: count !== undefined && offset + pageSize < count ? page + 1 : null,
      pageSize,
      nextCursor: next === undefined ? null : Buffer.from(next).toString('base64url'),
    };
  },
});

const listAuditSeals = tenantRoute({
  name: 'listAuditSeals',
  method: 'get',
  path: '/audit/seals',
  summary: 'List the seals of the audit trail',
  description: 'Returns the seals, oldest first. Keep them elsewhere: a trail that was written anew has other seals.',
  permission: 'audit.list',
  query: SealList,
  response: Seals,

  async handle({ query: { after, limit }, tenantID }, { pool }) {
    const { rows } = await pool.query<{
      number: number;
      rowCount: number;
      newestAt: Date;
      hash: string;
      createdAt: Date;
    }>(
      `select number, row_count as "rowCount", newest_at as "newestAt", encode(hash, 'hex') as hash, created_at as "createdAt"
       from audit_seal where tenant_id = $1 and number > $2 and retired_at is null order by number limit $3`,
      [tenantID, after, limit],
    );
    return {
      seals: rows.map(({ newestAt, createdAt, ...seal }) => ({
        ...seal,
        newestAt: newestAt.toISOString(),
        createdAt: createdAt.toISOString(),
      })),
      nextAfter: rows.length === limit ? (rows.at(-1)?.number ?? null) : null,
    };
  },
});

const getAuditRetention = tenantRoute({
  name: 'getAuditRetention',
  method: 'get',
  path: '/audit/retention',
  summary: 'Get how long the audit trail is kept',
  description: 'Returns how long entries of the tenant are kept.',
  permission: 'tenant.read',
  object: ({ params }) => `tenant:${params.tenantID}`,
  params: TenantID,
  response: z.object({ retention: AuditRetention }),

  async handle({ tenantID }, { pool, config }) {
    const { rows } = await pool.query<{ days: number | null }>('select audit_days as days from tenant where id = $1', [
      tenantID,
    ]);
    const [row] = rows;
    if (!row) throw new AppError('NOT_FOUND', 'Tenant not found');
    return { retention: retentionOf(config, row.days) };
  },
});

const updateAuditRetention = tenantRoute({
  name: 'updateAuditRetention',
  method: 'patch',
  path: '/audit/retention',
  summary: 'Set how long the audit trail is kept',
  description: 'Sets how long entries of the tenant are kept. Older ones are deleted within minutes, with their seals.',
  permission: 'tenant.update',
  object: ({ params }) => `tenant:${params.tenantID}`,
  params: TenantID,
  body: AuditRetentionUpdate,
  response: z.object({ retention: AuditRetention }),

  async handle({ tenantID, body: { days } }, { pool, config }) {
    const retention = retentionOf(config, days);
    const { minDays, maxDays } = retention;
    if (days !== null && (days < minDays || days > maxDays))
      throw invalidField('days', `must be ${minDays} to ${maxDays} in this deployment, received ${days}`);
    await inTransaction(pool, async (client) => {
      const query = onClient(client);
      const read = 'select audit_days as "auditDays" from tenant where id = $1 for no key update';
      const [before] = (await query(read, [tenantID])).rows;
      await query('update tenant set audit_days = $2 where id = $1', [tenantID, days]);
      const asset = { assetType: 'tenant', assetID: tenantID };
      await recordUpdate(query, tenantID, { ...asset, before, after: { auditDays: days } });
    });
    return { retention };
  },
});

function retentionOf({ worker }: ApiContext['config'], days: number | null): z.input<typeof AuditRetention> {
  const { auditMs, minAuditMs, maxAuditMs } = worker.retention;
  const [minDays, maxDays] = [minAuditMs / DAY_MS, maxAuditMs / DAY_MS];
  const inForce = Math.min(Math.max(days ?? auditMs / DAY_MS, minDays), maxDays);
  return { days, inForce, minDays, maxDays };
}

export const auditRoutes = [
  listAuditLogs,
  exportAuditLogs,
  listAuditSeals,
  verifyAuditTrail,
  getAuditRetention,
  updateAuditRetention,
];
