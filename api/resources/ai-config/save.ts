import { newID } from '#shared/core/ids.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { onEntities } from '#shared/db/query.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { AIConfig } from '#shared/entities/tables/ai-config.ts';
import type { TenantInput } from '../../http/route/input.ts';
import type { AIConfigChange } from './schemas.ts';
import { changeSettings, openSettings } from './settings.ts';

type Saving = Pick<TenantInput<never, never, never>, 'tenantID' | 'caller'> & { secrets: KeyRing };

/** Stores a change of the tenant's one row, which the first change creates. */
export function saveConfig(em: EntityManager, saving: Saving, change: AIConfigChange): Promise<AIConfig> {
  const { tenantID, caller, secrets } = saving;
  return em.transactional(async (tx) => {
    // Without the lock, two first changes at once would each create a row.
    await onEntities(tx)('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`ai.config.${tenantID}`]);
    const found = await tx.findOne(AIConfig, { tenantID });
    const before = openSettings(secrets, found);
    const next = changeSettings(before, change);
    const id = found?.id ?? newID();
    const { maxTokensPerDay, maxTokensPerMonth, maxCalls } = change;
    const fields = {
      provider: next?.provider ?? null,
      baseURL: next?.baseURL ?? null,
      model: next?.model ?? null,
      apiKey: sealedKey(secrets, { id, key: next?.apiKey, before: before?.apiKey, sealed: found?.apiKey }),
      maxTokensPerDay,
      maxTokensPerMonth,
      maxCalls,
    };
    const createdByApiKeyID = caller.type === 'apiKey' ? caller.id : null;
    const config =
      found ?? tx.create(AIConfig, { id, tenantID, creatorID: caller.userID ?? caller.id, createdByApiKeyID });
    tx.assign(config, fields, { ignoreUndefined: true });
    await tx.flush();
    return config;
  });
}

interface Key {
  id: string;
  key: string | null | undefined;
  before: string | null | undefined;
  sealed: string | null | undefined;
}

/** Seals a key only if it changes: otherwise the audit trail would show a change. */
function sealedKey(secrets: KeyRing, { id, key, before, sealed }: Key): string | null {
  if (!key) return null;
  if (key === before && sealed) return sealed;
  return secrets.seal(key, sealedColumns.aiKey.context(id));
}
