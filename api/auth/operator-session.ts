import { hash, randomBytes } from 'node:crypto';
import type { Request } from 'express';
import { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { OperatorAction } from '#shared/entities/tables/operator-audit.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import { createLoginThrottle } from './login-throttle.ts';
import { networkOf } from './network.ts';
import {
  type Account,
  findAccount,
  findSession,
  type OpenedSession,
  type OperatorEntry,
  openSession,
  revokeSession,
  saveOutcome,
  saveRehashed,
  writeOperatorEntry,
} from './operators.ts';
import { createPasswords } from './passwords.ts';

export const sessionHours = 12;
const format = /^[0-9a-f]{64}$/;

export interface OperatorIdentity {
  operatorID: string;
  email: string;
  operatorTitle: string | null;
}

/** An operator, as one request is authenticated. */
export interface OperatorSession extends OperatorIdentity {
  sessionID: string;
}

export interface Login {
  operator: OperatorIdentity;
  /** The token, shown once; only its hash is stored. */
  token: string;
  expiresAt: Date;
}

/** Actions other than those that the session itself records. */
type RecordedAction = Extract<OperatorAction, 'REQUEST' | 'BOARD' | 'USER_BLOCKED' | 'USER_UNBLOCKED'>;

/** A request, as the audit records it. */
export interface RequestOrigin {
  method: string;
  path: string;
  ipAddress: string;
  userAgent: string | null;
}

/** The operators' realm. Sessions are not cached: a revoked session is rejected on the next request. */
export interface Operators {
  /** Throws INVALID_LOGIN for a wrong address and a wrong password alike, after the same time; RATE_LIMITED; UNAVAILABLE when
   * attempts cannot be counted. */
  login(credentials: { email: string; password: string }, origin: RequestOrigin): Promise<Login>;
  /** Authenticates by the header of a request. */
  identify(authorization: string | undefined): Promise<OperatorSession>;
  identifyToken(token: string): Promise<OperatorSession>;
  logout(session: OperatorSession, origin: RequestOrigin): Promise<void>;
  /** Records an action before it is done, and answers with the function that records its outcome. An action that cannot be
   * recorded is not done. */
  record(session: OperatorSession, action: RecordedAction, origin: RequestOrigin): Promise<NoteOutcome>;
}

export type NoteOutcome = (status: number) => void;

export function createOperators({
  pool,
  backplane,
  logger,
}: {
  pool: Pool;
  backplane: Backplane;
  logger: Logger;
}): Operators {
  const throttle = createLoginThrottle(backplane);
  const passwords = createPasswords();

  function write(
    { operatorID, sessionID }: Pick<OperatorEntry, 'operatorID' | 'sessionID'>,
    entry: Pick<OperatorEntry, 'action' | 'status'> & RequestOrigin,
  ): Promise<string> {
    return writeOperatorEntry(pool, { ...entry, operatorID, sessionID });
  }

  async function check({ email, password }: Credentials, network: string): Promise<Checked> {
    await throttle.limitNetwork(network);
    const account = await findAccount(pool, email, network);
    await throttle.limitAccount({ email, network, isKnownHere: account?.isKnownHere ?? false });
    const { isRight, isOutdated } = await passwords.verify(password, account?.passwordHash);
    const mayEnter = account !== undefined && isRight && !account.isDisabled;
    if (mayEnter && isOutdated) await saveRehashed(pool, account, await passwords.hash(password));
    return { account, mayEnter };
  }

  return {
    async login({ email: typed, password }, origin) {
      const email = typed.toLowerCase();
      const network = networkOf(origin.ipAddress);
      const { account, mayEnter } = await check({ email, password }, network);
      const { token, tokenHash } = createToken();
      const session = account && mayEnter ? await open(account, { tokenHash, network, origin }) : undefined;
      if (!account || !session) {
        // Recorded for an unknown account as well, so that the answer takes as long; without the address, which may be a password.
        const operatorID = account?.operatorID ?? null;
        await write({ operatorID, sessionID: null }, { ...origin, action: 'LOGIN_FAILED', status: 401 });
        throw new AppError('INVALID_LOGIN', 'The e-mail address or the password is wrong');
      }
      const { operatorID, operatorTitle } = account;
      await throttle.forgive({ email, network });
      await write({ operatorID, sessionID: session.sessionID }, { ...origin, action: 'LOGIN', status: 200 });
      return { operator: { operatorID, email: account.email, operatorTitle }, token, expiresAt: session.expiresAt };
    },

    identify(authorization) {
      const [, token] = /^\s*bearer\s+(\S+)\s*$/i.exec(authorization ?? '') ?? [];
      if (token === undefined)
        return Promise.reject(unknownSession('An operator session is required: Authorization: Bearer <token>'));
      return identifyToken(token);
    },

    identifyToken,

    async logout(session, origin) {
      await write(session, { ...origin, action: 'LOGOUT', status: 200 });
      await revokeSession(pool, session.sessionID);
    },

    async record(session, action, origin) {
      const entryID = await write(session, { ...origin, action, status: null });
      return (status) => {
        saveOutcome(pool, entryID, status).catch((error: unknown) =>
          logger.error({ err: error, entryID, status }, 'outcome of an operator’s action not noted'),
        );
      };
    },
  };

  async function identifyToken(token: string): Promise<OperatorSession> {
    const found = format.test(token) ? await findSession(pool, hashOf(token)) : undefined;
    if (!found) throw unknownSession('The operator session is not valid');
    if (found.isExpired) throw new AppError('USER_AUTH_TOKEN_EXPIRED', 'The operator session has expired');
    const { sessionID, operatorID, email, operatorTitle } = found;
    return { sessionID, operatorID, email, operatorTitle };
  }

  function open(
    { operatorID, passwordVersion }: Account,
    { tokenHash, network, origin }: { tokenHash: Buffer; network: string; origin: RequestOrigin },
  ): Promise<OpenedSession | undefined> {
    const { ipAddress, userAgent } = origin;
    const hours = sessionHours;
    return openSession(pool, { operatorID, passwordVersion, tokenHash, ipAddress, network, userAgent, hours });
  }
}

/** Fields of a request for the record, cut to a length: the client chooses them. */
export function originOf(request: Request): RequestOrigin {
  return {
    method: request.method,
    path: request.originalUrl.replace(/\?.*$/s, '').slice(0, 2000),
    ipAddress: request.ip ?? '',
    userAgent: request.get('user-agent')?.slice(0, 500) ?? null,
  };
}

interface Checked {
  account: Account | undefined;
  mayEnter: boolean;
}

interface Credentials {
  email: string;
  password: string;
}

function createToken(): { token: string; tokenHash: Buffer } {
  const token = randomBytes(32).toString('hex');
  return { token, tokenHash: hashOf(token) };
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function unknownSession(message: string): AppError {
  return new AppError('USER_AUTH_TOKEN_NOT_FOUND', message);
}
