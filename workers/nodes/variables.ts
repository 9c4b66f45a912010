import { LRUCache } from 'lru-cache';
import { createBatcher } from '#shared/concurrency/batcher.ts';
import { isJsonObject, type Json } from '#shared/core/json.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Pool } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { ownRead } from '#shared/db/unavailable-store.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';
import { VARIABLES_CHANNEL } from '#shared/workflow/variables.ts';

/** A variable of a tenant; a secret is opened when a node names it. */
export type TenantVariable = { isSecret: false; value: Json } | { isSecret: true; open(): string };

export type VariablesByName = ReadonlyMap<string, TenantVariable>;

/** The variables of tenants as they are now. */
export interface TenantVariables {
  /** Variables of a tenant, perhaps cached. If one of the names is missing in the cache, they are read again: it may be new. */
  read(tenantID: string, names?: readonly string[]): Promise<VariablesByName>;
}

/** Cached ones are compared with the tenant's version after this time: a message about a change may be lost. */
const CHECK_AFTER_MS = 1_000;
const MAX_BYTES = 32_000_000;

interface CachedVariables {
  version: string;
  variables: VariablesByName;
  checkedAt: number;
  length: number;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  messages: Messages;
  checkAfterMs?: number;
}

export function createTenantVariables({
  pool,
  secrets,
  messages,
  checkAfterMs = CHECK_AFTER_MS,
}: Needs): TenantVariables & Disposable {
  const cached = new LRUCache<string, CachedVariables>({ maxSize: MAX_BYTES, sizeCalculation: ({ length }) => length });

  /** Nodes that ask in the same moment share a statement, also those of other tenants. */
  const readVersion = createBatcher(async (tenantIDs: string[]) => {
    const { rows } = await pool.query<{ id: string; version: string }>(VERSIONS, [[...new Set(tenantIDs)]]);
    const versions = new Map(rows.map(({ id, version }) => [id, version]));
    return tenantIDs.map((id) => versions.get(id) ?? '');
  });

  const unsubscribe = messages.subscribe(VARIABLES_CHANNEL, (message) => {
    const tenantID = isJsonObject(message) ? message.tenantID : undefined;
    if (typeof tenantID === 'string') cached.delete(tenantID);
  });

  async function load(tenantID: string): Promise<VariablesByName> {
    const checkedAt = performance.now();
    // The version is read first: variables may be newer than it, and are then read again.
    const version = await readVersion(tenantID);
    const known = cached.peek(tenantID);
    if (known?.version === version) {
      known.checkedAt = checkedAt;
      return known.variables;
    }
    const { rows } = await pool.query<Row>(READ, [tenantID]);
    const variables = new Map(rows.map((row) => [row.name, variableOf(row, secrets)]));
    const length = rows.reduce((sum, row) => sum + row.length, 200);
    cached.set(tenantID, { version, variables, checkedAt, length: Math.min(length, MAX_BYTES) });
    return variables;
  }

  return {
    async read(tenantID, names = []) {
      const known = cached.get(tenantID);
      const isFresh = known !== undefined && performance.now() - known.checkedAt < checkAfterMs;
      if (isFresh && names.every((name) => known.variables.has(name))) return known.variables;
      return ownRead(() => load(tenantID));
    },
    [Symbol.dispose]: unsubscribe,
  };
}

interface Row {
  id: string;
  name: string;
  value: { is: Json } | null;
  secret: string | null;
  length: number;
}

function variableOf({ id, name, value, secret }: Row, secrets: KeyRing): TenantVariable {
  if (secret === null) return { isSecret: false, value: value?.is ?? null };
  // The secret is cached sealed, so that a process which uses no secret has none in its memory.
  const context = sealedColumns.variableSecret.context(id);
  return { isSecret: true, open: () => secrets.open(secret, context, `The secret variable "${name}"`) };
}

const VERSIONS = 'select id, variables_version::text as version from tenant where id = any($1::uuid[])';

const READ = `
select id, name, value, secret, 200 + coalesce(length(value::text), 0) + coalesce(length(secret), 0) as length
from tenant_variable where tenant_id = $1`;
