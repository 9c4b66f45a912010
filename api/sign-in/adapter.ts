import { hash } from 'node:crypto';
import type { Request } from 'express';
import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { Pool } from '#shared/db/pool.ts';
import { forgetUnusedClients, UNUSED_SECONDS } from './apps.ts';

/**
 * For this long a refresh token may be used again, since its answer may have been lost. After that, a second use ends the sign-in: one
 * of the two users is a thief. Tabs of one browser take turns.
 */
const REUSE_SECONDS = 10;

interface Row {
  payload: string;
  consumed: number | null;
}

/** The records of oidc-provider, in Postgres: every API process reads the same, and a restart loses nothing. */
export function postgresAdapter(pool: Pool): (kind: string) => Adapter {
  return (kind) => {
    const graceSeconds = kind === 'RefreshToken' ? REUSE_SECONDS : 0;

    async function findBy(column: 'id' | 'uid', value: Buffer | string): Promise<Row | undefined> {
      const { rows } = await pool.query<Row>(
        `select payload, extract(epoch from consumed_at + make_interval(secs => $3))::float8 as consumed
         from sign_in_record where kind = $1 and ${column} = $2 and expires_at > now()`,
        [kind, value, graceSeconds],
      );
      return rows[0];
    }

    return {
      async upsert(id, payload, expiresIn) {
        const { ipAddress, userAgent } = kind === 'Session' ? clientOf() : { ipAddress: null, userAgent: null };
        const { jti: _id, ...stored } = withoutCookie(payload);
        // oidc-provider saves a session at the end of each request. One that was ended meanwhile must stay ended.
        await pool.query(kind === 'Session' && isStored(sessionOfRequest()) ? UPDATE : UPSERT, [
          kind,
          digest(id),
          JSON.stringify(stored),
          ...namedIn(payload),
          ipAddress,
          userAgent,
          expiresIn ?? UNUSED_SECONDS,
          resourceOf(payload),
        ]);
        if (kind === 'Client') await forgetUnusedClients(pool);
      },
      async find(id) {
        const row = await findBy('id', digest(id));
        return row && withID(row, id);
      },
      async findByUid(uid) {
        // Only whether the session lives is asked with it; a cookie is never answered, so the id may stay unknown.
        const row = await findBy('uid', uid);
        return row && withID(row, uid);
      },
      findByUserCode: () => Promise.resolve(undefined),
      async consume(id) {
        const { rowCount } = await pool.query(
          `update sign_in_record set consumed_at = coalesce(consumed_at, now())
           where kind = $1 and id = $2 and (consumed_at is null or consumed_at > now() - make_interval(secs => $3))`,
          [kind, digest(id), graceSeconds],
        );
        // One of two uses at once counts.
        if (rowCount === 0) throw new errors.InvalidGrant('already used');
      },
      async destroy(id) {
        const session = sessionOfRequest();
        // A session gets a new id: the save that follows must not make it, where it was ended meanwhile.
        if (kind === 'Session' && session?.oldId === id && isStored(session))
          await pool.query('update sign_in_record set id = $3 where kind = $1 and id = $2', [
            kind,
            digest(id),
            digest(session.jti),
          ]);
        else await pool.query('delete from sign_in_record where kind = $1 and id = $2', [kind, digest(id)]);
      },
      async revokeByGrantId(grantID) {
        await pool.query('delete from sign_in_record where kind = $1 and grant_id = $2', [kind, grantID]);
      },
    };
  };
}

/** The cookie of a session is in the interaction too, where nothing needs it. */
function withoutCookie(payload: AdapterPayload): AdapterPayload {
  const { session } = payload;
  if (!session?.cookie) return payload;
  const { cookie: _cookie, ...rest } = session;
  return { ...payload, session: rest as typeof session };
}

/** The account of a sign-in that is finished, and not followed by its browser yet. */
function signedInBy({ result }: AdapterPayload): string | null {
  const { login } = (result ?? {}) as { login?: { accountId?: string } };
  return login?.accountId ?? null;
}

function withID({ payload, consumed }: Row, jti: string): AdapterPayload {
  const isConsumed = consumed !== null && consumed <= Date.now() / 1_000;
  return { ...(JSON.parse(payload) as AdapterPayload), jti, ...(isConsumed && { consumed }) };
}

/** The account, grant, session and session of the browser to which a record belongs. */
function namedIn(payload: AdapterPayload): (string | null)[] {
  const { accountId, grantId = null, uid = null, expiresWithSession, sessionUid = null } = payload;
  // Tokens that outlive the session of their browser do not belong to it.
  return [accountId ?? signedInBy(payload), grantId, uid, expiresWithSession ? sessionUid : null];
}

/** The MCP service that an app was given the record for. */
function resourceOf({ aud, resource, resources }: AdapterPayload): string | null {
  const named: unknown = aud ?? resource ?? Object.keys(resources ?? {})[0];
  return typeof named === 'string' ? named : null;
}

type Session = InstanceType<Provider['Session']>;

function sessionOfRequest(): (Session & { oldId?: string }) | undefined {
  return Provider.ctx?.oidc?.entities.Session;
}

/** The time at which it was made comes with a session that was found, and is given to a new one only as it is stored. */
function isStored(session: Session | undefined): boolean {
  return session?.iat !== undefined;
}

/** The browser for which the provider acts. */
function clientOf(): { ipAddress: string | null; userAgent: string | null } {
  const request = Provider.ctx?.req as Request | undefined;
  return {
    ipAddress: request?.ip ?? null,
    userAgent: request?.headers['user-agent']?.slice(0, 500) ?? null,
  };
}

function digest(id: string): Buffer {
  return hash('sha256', id, 'buffer');
}

const UPSERT = `
insert into sign_in_record (kind, id, payload, account_id, grant_id, uid, session_uid, ip_address, user_agent, expires_at, resource)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10), $11)
on conflict (kind, id) do update set
  payload = excluded.payload, account_id = excluded.account_id, grant_id = excluded.grant_id, uid = excluded.uid,
  session_uid = excluded.session_uid, ip_address = excluded.ip_address, user_agent = excluded.user_agent,
  expires_at = excluded.expires_at, resource = excluded.resource`;

const UPDATE = `
update sign_in_record set
  payload = $3, account_id = $4, grant_id = $5, uid = $6, session_uid = $7, ip_address = $8, user_agent = $9,
  expires_at = now() + make_interval(secs => $10), resource = $11
where kind = $1 and id = $2`;
