import type { Caller } from '#shared/caller.ts';
import type { ApiContext } from '../context.ts';
import type { Request, Response, Route } from '../http/route.ts';
import { recordingChanges } from './changes.ts';
import { recordOutcome } from './outcome.ts';
import { type Asset, openEntry } from './request-entry.ts';

/** In whose trail a request without a credential belongs, once its handler has found out. */
export interface Concerned {
  tenantID: string;
  /** Null: it is not known who asks. */
  caller: Caller | null;
  asset?: Asset;
}

export type RecordPublic = <T>(of: Concerned, work: () => Promise<T>) => Promise<T>;

/** Does the work once its entry is stored. What it changes is recorded with it. */
export function createRecordPublic(
  { audit }: Pick<ApiContext, 'audit'>,
  asked: { route: Route; request: Request; response: Response },
): RecordPublic {
  return async ({ tenantID, caller, asset }, work) => {
    const identity = {
      userID: caller && (caller.userID ?? caller.id),
      apiKeyID: caller?.type === 'apiKey' ? caller.id : null,
    };
    const entry = openEntry(audit, { ...asked, tenantID, identity, asset });
    await entry.begin();
    const by = { entryIn: () => ({ tenantID, entryID: entry.id }), ...identity };
    return recordOutcome(entry, asked.response, () => recordingChanges(by, work));
  };
}
