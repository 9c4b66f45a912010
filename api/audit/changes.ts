import { AsyncLocalStorage } from 'node:async_hooks';
import { isDeepStrictEqual } from 'node:util';
import { type ChangeSet, type EventSubscriber, type FlushEventArgs, JsonType } from '@mikro-orm/postgresql';
import { type AuditRecord, insertFrom } from '#shared/access/audit/records.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Query } from '#shared/db/query.ts';
import { AuditRecord as Row } from '#shared/entities/tables/audit-record.ts';
import { type Side, sidesOf } from './old-and-new-values.ts';

interface Changing {
  /**
   * The trail and the entry that a change of an asset of this tenant (null: of the deployment) belongs to; undefined if
   * it is not recorded.
   */
  entryIn(tenantID: string | null): { tenantID: string; entryID: string } | undefined;
  userID: string | null;
  apiKeyID: string | null;
}

const current = new AsyncLocalStorage<Changing>();

/** Runs the handler of a request. What it changes is recorded, in the transaction of the change. */
export function recordingChanges<T>(by: Changing, work: () => T): T {
  return current.run(by, work);
}

/** A change that SQL of our own makes; `ChangeRecorder` sees only those of the ORM. */
interface AssetChange {
  assetType: string;
  assetID: string;
  action: 'create' | 'update' | 'delete';
  /** Changes by field. */
  changes: Record<string, { from?: unknown; to?: unknown }>;
}

/** The records of changes by the request that is handled; none outside of requests. */
function changeRecords(tenantID: string, made: readonly AssetChange[]): AuditRecord[] {
  const by = current.getStore();
  const entry = by?.entryIn(tenantID);
  if (!by || !entry) return [];
  const { userID, apiKeyID } = by;
  return made.map(({ changes, action, ...asset }) => ({
    ...OF_CHANGE,
    ...entry,
    ...asset,
    action,
    id: newID(),
    userID,
    apiKeyID,
    details: { changes: readableChanges(changes) },
    at: new Date(),
  }));
}

/** Adds the records of changes, in the transaction that makes them. */
export async function recordChanges(query: Query, tenantID: string, made: readonly AssetChange[]): Promise<void> {
  const records = changeRecords(tenantID, made);
  if (records.length > 0) await query(INSERT, [JSON.stringify(records)]);
}

interface Update {
  assetType: string;
  assetID: string;
  before: object | undefined;
  after: object | undefined;
}

/** Adds a record of the fields that differ. */
export async function recordUpdate(query: Query, tenantID: string, { before, after, ...asset }: Update): Promise<void> {
  const [old, now] = [before ?? {}, after ?? {}].map((side) => new Map<string, unknown>(Object.entries(side)));
  const names = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])];
  const changes = names.flatMap((name) => {
    const [from, to] = [old?.get(name), now?.get(name)];
    return isDeepStrictEqual(from, to) ? [] : [[name, { from, to }]];
  });
  if (changes.length === 0) return;
  await recordChanges(query, tenantID, [{ ...asset, action: 'update', changes: Object.fromEntries(changes) }]);
}

const INSERT = insertFrom('$1::jsonb');

const OF_CHANGE = { kind: 'change', type: 'ASSET_CHANGE', path: null, status: null, durationMs: null } as const;

function readableChanges(changes: AssetChange['changes']): JsonObject {
  return Object.fromEntries(
    Object.entries(changes).map(([name, sides]) => {
      const { from, to } = sides;
      return [
        name,
        sidesOf(name, {
          ...('from' in sides && { from: { value: from } }),
          ...('to' in sides && { to: { value: to } }),
        }),
      ];
    }),
  );
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
  AIConfig: 'aiConfig',
  Role: 'role',
  ApiKey: 'apiKey',
  Invitation: 'invitation',
  WidgetLibraryEntry: 'libraryEntry',
  WorkflowVersion: 'version',
};

/** Fields of the row, not of the asset. */
const unshown: ReadonlySet<string> = new Set(['id', 'tenantID', 'createdAt', 'updatedAt', 'keyHash', 'tokenHash']);
/** Large contents that are not shown: versions and entries of the library store them whole. */
const large: ReadonlySet<string> = new Set(['nodes', 'edges', 'bundle']);

/** Adds a record for each asset that a flush creates, changes or deletes, to the same flush: it is stored with it or not at all. */
export class ChangeRecorder implements EventSubscriber {
  onFlush({ em, uow }: FlushEventArgs): void {
    const by = current.getStore();
    if (!by) return;
    for (const change of uow.getChangeSets()) {
      const assetType = assets[change.meta.className];
      const changes = assetType && describe(change);
      if (!changes || !assetType) continue;
      const assetID = String(Reflect.get(change.entity, 'id'));
      const entry = by.entryIn(assetType === 'tenant' ? assetID : tenantOf(change.entity));
      if (!entry) continue;
      const { userID, apiKeyID } = by;
      const own = { userID, apiKeyID, action: change.type, assetType, assetID, details: { changes } };
      const record = em.create(Row, { ...OF_CHANGE, ...entry, ...own });
      uow.computeChangeSet(record);
    }
  }
}

function tenantOf(entity: object): string | null {
  return Reflect.get(entity, 'tenantID') ?? Reflect.get(entity, 'sourceTenantID') ?? null;
}

/** The old and the new values by field; undefined if nothing is to be shown. */
function describe({ type, meta, payload, originalEntity }: ChangeSet<object>): JsonObject | undefined {
  const before: object = originalEntity ?? {};
  const after: object = type === 'delete' ? {} : payload;
  const changes: JsonObject = {};
  for (const name of Object.keys(type === 'delete' ? before : after)) {
    const isJSON = Reflect.get(meta.properties, name)?.customType instanceof JsonType;
    const [from, to] = [before, after].map((row) => sideOf(row, { name, isJSON }));
    if (!from || !to) continue;
    changes[name] = sidesOf(name, { ...(type !== 'create' && { from }), ...(type !== 'delete' && { to }) });
  }
  return type === 'delete' || Object.keys(changes).length > 0 ? changes : undefined;
}

/** The value of a field before or after a change; undefined if the field is not shown. */
function sideOf(row: object, { name, isJSON }: { name: string; isJSON: boolean }): Side | undefined {
  if (unshown.has(name) || large.has(name)) return undefined;
  const value: unknown = Reflect.get(row, name);
  if (ArrayBuffer.isView(value)) return undefined;
  return isJSON && typeof value === 'string' ? { json: value } : { value };
}
