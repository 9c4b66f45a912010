import { raw } from '@mikro-orm/postgresql';
import { readApproverNames } from '#shared/access/policy/approvers.ts';
import { textArray } from '#shared/db/array.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { Condition } from '../tenant/visible-rows.ts';

interface Requester {
  tenantID: string;
  identity: { userID: string; apiKeyID?: string | undefined };
}

/**
 * Narrows collection requests to those without approvers and those whose approvers include this person, without those that another than
 * this person must answer. The caller also needs the permission to execute the workflow.
 */
export async function answerableBy(em: EntityManager, { tenantID, identity }: Requester): Promise<Condition> {
  const names = identity.apiKeyID ? [] : await readApproverNames(onEntities(em), tenantID, identity.userID);
  const named = (row: string) =>
    `exists (select from jsonb_array_elements_text(${row}.collection_config->'approvers') as name where name = any(?::text[]))`;
  const fragment = raw(
    (row) =>
      `(not jsonb_exists(${row}.collection_config, 'approvers') or ${named(row)}) and ${row}.collection_config->>'notBy' is distinct from ?`,
    [textArray(names), identity.userID],
  );
  return { [fragment.key]: [] };
}
