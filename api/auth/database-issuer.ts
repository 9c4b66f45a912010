/**
 * The identity provider that a database has run with, remembered in it. The development issuer signs a token for any
 * address, so it must not start on a database with users of a real provider.
 */
import type { Pool } from '#shared/db/pool.ts';

/** Issuers of our own, which no real provider can have. */
const OWN = 'urn:gantry:%';

/** The second part reads users: it finds the issuer of a database that ran before issuers were remembered. */
const FIND = `
select value #>> '{}' as issuer from service_state where key = 'issuer' and value #>> '{}' not like $1
union all
(select issuer from app_user where issuer not like $1 limit 1)
limit 1`;

const REMEMBER = `
insert into service_state (key, value) values ('issuer', to_jsonb($1::text))
on conflict (key) do update set value = excluded.value, updated_at = now()
where service_state.value is distinct from excluded.value`;

/** Throws on a database that has run with a real identity provider. One without tables has not run yet. */
export async function requireDevelopmentDatabase(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ issuer: string }>(FIND, [OWN]).catch((error: { code?: string }) => {
    if (error.code === '42P01') return { rows: [] };
    throw error;
  });
  const [found] = rows;
  if (found)
    throw new Error(
      `The database has run with the identity provider ${found.issuer}, so the development issuer, which signs in ` +
        'any e-mail address, does not start on it. Set AUTH_ISSUER and AUTH_AUDIENCE, or AUTH=builtin, or use another database.',
    );
}

export async function rememberIssuer(pool: Pool, issuer: string): Promise<void> {
  await pool.query(REMEMBER, [issuer]);
}
