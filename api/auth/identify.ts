import {
  type AccountLookup,
  type AccountStatus,
  type KeyStatus,
  type Membership,
  type MembershipLookup,
  noteKeyUse,
  noteSeen,
  type Person,
  readAccountStatuses,
  readMemberships,
} from '#shared/access/account-status.ts';
import { createBatcher } from '#shared/concurrency/batcher.ts';
import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { savePerson } from '../people/people.ts';
import { createKeyVerifier } from './api-key.ts';
import type { Identity } from './identity.ts';
import { createNotes } from './last-uses.ts';
import { bypassing } from './test-bypass.ts';
import { createRemoteIssuer, type TrustedIssuer } from './trusted-issuer.ts';
import { createTokenVerifier, notFound, type VerifyToken } from './user-token.ts';

export interface AuthConfig {
  issuer: string | undefined;
  audience: string | undefined;
  jwksURL: string | undefined;
  /** For tests only: tokens that name their user are accepted. */
  testBypass?: boolean;
}

export interface Identified extends Identity {
  /** Membership in the tenant of the request; null for a caller who is not a member. */
  membership: Membership | null;
}

/** Authenticates callers. Users are not cached: a blocked user is rejected on the next request. */
export interface Authenticator {
  /**
   * Identifies by the headers of a request. The same query reads the membership in `tenantID`, and the state of the
   * workflow `workflowID`.
   */
  identify(
    authorization: string | undefined,
    more?: { apiKey?: string | undefined; tenantID?: string | undefined; workflowID?: string | undefined },
  ): Promise<Identified>;
  /** The present identity of an API key that was identified before. */
  identifyKey(
    keyID: string,
    more: { tenantID?: string | undefined; workflowID?: string | undefined },
  ): Promise<Identified>;
  /** The present identity of a person whose credential was checked elsewhere. */
  identifyPerson(person: Person, more: { tenantID?: string | undefined }): Promise<Identified>;
  /** Identifies by a bare token, as sockets send it. */
  identifyToken(token: unknown): Promise<Identity>;
  /** The present membership of an identified user in a tenant, with the state of the workflow `workflowID`. */
  findMembership(userID: string, tenantID: string, workflowID?: string): Promise<Membership | null>;
}

interface Dependencies {
  pool: Pool;
  logger: Logger;
  /** An issuer in this process, which takes the place of a provider. */
  ownIssuer?: TrustedIssuer | undefined;
}

/** Disposing it writes the last uses of users and keys; before that, the pool must not end. */
export function createAuthenticator(
  config: AuthConfig,
  { pool, logger, ownIssuer }: Dependencies,
): Authenticator & AsyncDisposable {
  const checked = createVerifier(config, { ownIssuer, logger });
  const verify = config.testBypass ? bypassing(checked) : checked;
  const visits = createNotes((userIDs) => noteSeen(pool, userIDs), logger);
  const keyUses = createNotes((keyIDs) => noteKeyUse(pool, keyIDs), logger);
  const keys = createKeyVerifier(pool, (keyID) => keyUses.add(keyID));
  const findAccount = createBatcher((lookups: AccountLookup[]) => readAccountStatuses(pool, lookups));
  const findMembership = createBatcher((lookups: MembershipLookup[]) => readMemberships(pool, lookups));

  async function identifyPerson(person: Person, tenantID: string | null, workflowID?: string): Promise<Identified> {
    const lookup = { issuer: person.issuer, subject: person.subject, tenantID, workflowID };
    let account = await findAccount(lookup);
    if (!account || hasNewAddress(person, account)) {
      await savePerson(pool, newID(), person);
      account = await findAccount(lookup);
    }
    const identified = present(account);
    if (!account?.isSeenNoted) visits.add(identified.userID);
    return identified;
  }

  return {
    async identify(authorization, { apiKey, tenantID, workflowID } = {}) {
      const credential = credentialOf(authorization, apiKey);
      if ('token' in credential) return identifyPerson(await verify(credential.token), tenantID ?? null, workflowID);
      return presentKey(await keys.verify(credential.apiKey, workflowID), tenantID);
    },
    identifyPerson: (person, { tenantID }) => identifyPerson(person, tenantID ?? null),
    async identifyKey(keyID, { tenantID, workflowID }) {
      return presentKey(await keys.verifyID(keyID, workflowID), tenantID);
    },
    async identifyToken(token) {
      if (typeof token !== 'string' || token === '') throw notFound('A token is required');
      const { userID, email } = await identifyPerson(await verify(token), null);
      return { userID, email };
    },
    findMembership: (userID, tenantID, workflowID) => findMembership({ userID, tenantID, workflowID }),
    async [Symbol.asyncDispose]() {
      await Promise.all([visits[Symbol.asyncDispose](), keyUses[Symbol.asyncDispose]()]);
    },
  };
}

function createVerifier(
  { issuer, audience, jwksURL }: AuthConfig,
  { ownIssuer, logger }: Pick<Dependencies, 'ownIssuer' | 'logger'>,
): VerifyToken {
  if (ownIssuer) return createTokenVerifier(ownIssuer);
  if (issuer && audience) return createTokenVerifier(createRemoteIssuer({ issuer, audience, jwksURL }, logger));
  logger.warn('neither AUTH_ISSUER nor DEV_ISSUER_KEY_FILE is set: no user can sign in');
  return () => Promise.reject(notFound('No identity provider is configured'));
}

/** API keys come in `Authorization: api_key …` or in `x-api-key`. */
function credentialOf(
  authorization: string | undefined,
  apiKey: string | undefined,
): { token: string } | { apiKey: string } {
  const [, scheme = '', credential = ''] = /^\s*(\S+)\s+(\S+)\s*$/.exec(authorization ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return { token: credential };
  if (scheme.toLowerCase() === 'api_key') return { apiKey: credential };
  if (!authorization && apiKey !== undefined) return { apiKey: apiKey.trim() };
  throw notFound('A bearer token is required: Authorization: Bearer <token>');
}

/** Outside its own tenant a key has no membership. */
function presentKey({ keyID, userID, email, ...key }: KeyStatus, tenantID: string | undefined): Identified {
  return { userID, email, apiKeyID: keyID, membership: key.tenantID === tenantID ? key.membership : null };
}

/** Whether the token brings a new or newly verified address. Nothing of a blocked user is stored. */
function hasNewAddress({ email, isEmailVerified }: Person, account: AccountStatus): boolean {
  if (email === null || account.isDisabled) return false;
  return email !== account.email || (isEmailVerified && !account.isEmailVerified);
}

function present(account: AccountStatus | null): Identified {
  if (!account || account.isDisabled) throw notFound('This user is blocked');
  const { userID, email, membership } = account;
  return { userID, email, membership };
}
