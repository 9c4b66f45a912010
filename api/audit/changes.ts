import { AsyncLocalStorage } from 'node:async_hooks';
import { type ChangeSet, type EventSubscriber, type FlushEventArgs, JsonType } from '@mikro-orm/postgresql';
import { readable } from '#shared/audit/readable.ts';
import { AuditRecord } from '#shared/db/entities/audit-record.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/json.ts';

interface Changing {
  entryID: string;
  tenantID: string;
  userID: string;
  apiKeyID: string | null;
}

const current = new AsyncLocalStorage<Changing>();

/** Runs the handler of a request. What it changes by entities is recorded, in the transaction of the change. */
export function recordingChanges<T>(by: Changing, work: () => T): T {
  return current.run(by, work);
}

/** The entities whose changes are shown, by the names that paths give their ids: `:workflowID` is a `workflow`. */
const assets: Readonly<Record<string, string>> = {
  Tenant: 'tenant',
  Workflow: 'workflow',
  DataQuery: 'dataQuery',
  Datasource: 'datasource',
  CronJob: 'cronJob',
  Listener: 'listener',
  ListenerAction: 'listenerAction',
  Folder: 'folder',
  Widget: 'widget',
  Dashboard: 'dashboard',
  AppPage: 'appPage',
  TenantVariable: 'variable',
  TenantFile: 'file',
  OAuthConnection: 'oauthConnection',
  Role: 'role',
  ApiKey: 'apiKey',
  Invitation: 'invitation',
};

/** Of the row, not of the asset. */
const unshown: ReadonlySet<string> = new Set(['id', 'tenantID', 'createdAt', 'updatedAt', 'keyHash', 'tokenHash']);

/** Adds a record for each asset that a flush creates, changes or deletes, to the same flush: it is stored with it or not at all. */
export class ChangeRecorder implements EventSubscriber {
  onFlush({ em, uow }: FlushEventArgs): void {
    const by = current.getStore();
    if (!by) return;
    for (const change of uow.getChangeSets()) {
      const assetType = assets[change.meta.className];
      const changes = assetType && describe(change);
      if (!changes || !assetType) continue;
      const record = em.create(AuditRecord, {
        ...by,
        kind: 'change',
        type: 'ASSET_CHANGE',
        action: change.type,
        path: null,
        assetType,
        assetID: String(Reflect.get(change.entity, 'id')),
        status: null,
        durationMs: null,
        details: { changes },
      });
      uow.computeChangeSet(record);
    }
  }
}

/** From what to what, by field; undefined if nothing is to be shown. */
function describe({ type, meta, payload, originalEntity }: ChangeSet<object>): JsonObject | undefined {
  const before: object = originalEntity ?? {};
  const after: object = type === 'delete' ? {} : payload;
  const changes: JsonObject = {};
  for (const name of Object.keys(type === 'delete' ? before : after)) {
    const isJSON = Reflect.get(meta.properties, name)?.customType instanceof JsonType;
    const [from, to] = [before, after].map((row) => fieldOf(row, { name, isJSON }));
    if (from === undefined || to === undefined) continue;
    changes[name] = { ...(type !== 'create' && { from }), ...(type !== 'delete' && { to }) };
  }
  return type === 'delete' || Object.keys(changes).length > 0 ? changes : undefined;
}

/** Hidden by its own name, as a part of a body is; undefined if it is not shown. */
function fieldOf(row: object, { name, isJSON }: { name: string; isJSON: boolean }): Json | undefined {
  const stored: unknown = Reflect.get(row, name);
  const value: unknown = isJSON && typeof stored === 'string' ? JSON.parse(stored) : stored;
  if (unshown.has(name) || ArrayBuffer.isView(value)) return undefined;
  const shown = readable({ [name]: value ?? null });
  // A value that is too large is cut as a whole.
  return isJsonObject(shown) ? (shown[name] ?? shown) : shown;
}
