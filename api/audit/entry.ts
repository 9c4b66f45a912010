import type { AuditRecord } from '#shared/audit/records.ts';

/** The entry of a request in the audit trail of its tenant. */
export interface RequestEntry {
  readonly id: string;
  /** Writes the entry before the handler of a request that may change something. */
  begin(): Promise<void>;
  /** The entry, for a handler whose own statement writes it. */
  take(): AuditRecord;
  /** How the request has ended, with its answer unless the handler has sent one itself. */
  end(status: number, answer?: object): void;
  fail(error: unknown): void;
}
