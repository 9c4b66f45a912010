import { type AuditRecord, insertAuditRecords } from '#shared/access/audit/records.ts';
import { AppError } from '#shared/core/errors.ts';
import { isRefusedStatement } from '#shared/db/pool.ts';
import type { auditEntries } from '#shared/messaging/queues/audit-entries.ts';
import type { Processor } from './consume.ts';

export const storeAuditEntries: Processor<typeof auditEntries> = async ({ payload }, { pool, logger }) => {
  // An API process has made them.
  await store(payload.records as unknown as AuditRecord[]);
  return { outcome: 'stored' };

  async function store(records: readonly AuditRecord[]): Promise<void> {
    try {
      await insertAuditRecords(pool, records);
    } catch (error) {
      if (!isRefusedStatement(error))
        throw new AppError('UNAVAILABLE', 'Entries of the audit trail were not stored', { cause: error, retry: true });
      if (records.length === 1) return logger.error({ err: error, record: records[0]?.id }, 'an audit record is lost');
      const middle = records.length >> 1;
      await store(records.slice(0, middle));
      await store(records.slice(middle));
    }
  }
};
