import { type AuditRecord, insertAuditRecords } from '#shared/access/audit/records.ts';
import { bisect } from '#shared/concurrency/bisect.ts';
import { AppError } from '#shared/core/errors.ts';
import { isRefusedStatement } from '#shared/db/pool.ts';
import type { auditEntries } from '#shared/messaging/queues/audit-entries.ts';
import type { Processor } from './consume.ts';

export const storeAuditEntries: Processor<typeof auditEntries> = async ({ payload }, { pool, logger }) => {
  // Safe: an API process has made the records.
  await bisect(payload.records as unknown as AuditRecord[], store, ({ id }, error) =>
    logger.error({ err: error, record: id }, 'an audit record is lost'),
  );
  return { outcome: 'stored' };

  /** Returns the error if one record may have caused it. */
  async function store(records: readonly AuditRecord[]): Promise<unknown> {
    try {
      await insertAuditRecords(pool, records);
      return undefined;
    } catch (error) {
      if (isRefusedStatement(error)) return error;
      throw new AppError('UNAVAILABLE', 'Entries of the audit trail were not stored', { cause: error, retry: true });
    }
  }
};
