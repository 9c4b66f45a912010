import type { AuditRecord } from '#shared/access/audit/records.ts';
import type { Caller } from '#shared/core/caller.ts';

/** The entry of a request in the audit trail of its tenant. */
export interface RequestEntry {
  readonly id: string;
  /** Writes the entry before the handler of a request that may change something. */
  begin(): Promise<void>;
  /** The entry, for a handler whose own statement writes it. */
  take(): AuditRecord;
  /** Records how the request has ended, with its response unless the handler has sent one itself. */
  end(status: number, result?: object): void;
  fail(error: unknown): void;
}

export interface Asset {
  assetType: string | null;
  assetID: string | null;
}

/** The tenant whose trail records a request without a credential, which only the handler can find out. */
export interface AuditTarget {
  tenantID: string;
  /** Null if it is not known who sends the request. */
  caller: Caller | null;
  asset?: Asset;
}

export type RecordPublic = <T>(of: AuditTarget, work: () => Promise<T>) => Promise<T>;
