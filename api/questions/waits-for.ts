import { z } from 'zod';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { CollectionRequest } from '#shared/entities/tables/collection-request.ts';

const Answerer = z.object({ type: z.enum(['user', 'role', 'other']), name: z.string() }).meta({ id: 'Answerer' });

/** Fields that tell the reader of a question who may answer it. */
export const answerableFields = {
  mayAnswer: z.boolean().meta({ description: 'Whether the caller may' }),
  waitsFor: z.array(Answerer).meta({
    description:
      'For a caller who may not: the members and the roles that may answer; empty: all who may execute the workflow',
  }),
};

/** Those whom a question names, by their names. Names of none are told as they were given, ids of none are left out. */
export async function waitsForOf(em: EntityManager, request: Asked): Promise<z.output<typeof Answerer>[]> {
  const { approvers } = request.collectionConfig;
  if (!Array.isArray(approvers)) return [];
  const { rows } = await onEntities(em)<{ given: string; type: 'user' | 'role'; name: string }>(NAMES, [
    request.tenantID,
    JSON.stringify(approvers),
  ]);
  const found = new Map(rows.map(({ given, ...who }) => [given, who]));
  const named = approvers.map(String).flatMap((given) => found.get(given) ?? unknown(given));
  return [...new Map(named.map((who) => [who.type + who.name, who])).values()];
}

type Asked = Pick<CollectionRequest, 'tenantID' | 'collectionConfig'>;

function unknown(given: string): z.output<typeof Answerer>[] {
  return z.uuid().safeParse(given).success ? [] : [{ type: 'other', name: given }];
}

const NAMES = `
select given, 'role' as type, r.role_name as name
from jsonb_array_elements_text($2::jsonb) as given join role r on given in (r.id::text, lower(r.role_name))
where r.tenant_id = $1::uuid
union all
select given, 'user', coalesce(nullif(concat_ws(' ', u.first_name, u.last_name), ''), u.email, given)
from jsonb_array_elements_text($2::jsonb) as given join app_user u on given in (u.id::text, lower(u.email))
join membership m on m.user_id = u.id and m.tenant_id = $1::uuid`;
