import { isIP } from 'node:net';
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { newID } from '#shared/core/ids.ts';
import type { Pool, PoolClient } from '#shared/db/pool.ts';

interface Passkey {
  id: string;
  accountID: string;
  credentialID: string;
  publicKey: Buffer;
  counter: number;
  transports: string[];
}

/** A passkey as the account page shows it. */
export interface ShownPasskey {
  id: string;
  name: string;
  createdAt: Date;
  lastUsedAt: Date | null;
}

const MAX_PASSKEYS = 20;

/** Browsers tie passkeys to a host name, and to no address of a machine. */
export function hasPasskeys(publicURL: string): boolean {
  return isIP(hostOf(publicURL).replace(/^\[|\]$/g, '')) === 0;
}

export async function askForPasskey(
  pool: Pool,
  { publicURL, accountID }: { publicURL: string; accountID: string | undefined },
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const own = accountID === undefined ? [] : await readPasskeys(pool, accountID);
  return await generateAuthenticationOptions({
    rpID: hostOf(publicURL),
    // Then a passkey is two factors: the device, and what unlocks it.
    userVerification: 'required',
    // Before the account is known none are named, so that a stranger does not learn which accounts have one.
    ...(own.length > 0 && {
      allowCredentials: own.map(({ credentialID, transports }) => ({
        id: credentialID,
        transports: transports as never,
      })),
    }),
  });
}

/** The account whose passkey has signed the challenge; undefined if none has. */
export async function checkPasskey(
  pool: Pool,
  { response, challenge, publicURL }: { response: AuthenticationResponseJSON; challenge: string; publicURL: string },
): Promise<string | undefined> {
  const { rows } = await pool.query<Passkey>(`${SELECT} where credential_id = $1`, [response.id]);
  const [passkey] = rows;
  if (!passkey) return undefined;
  const { id, credentialID, publicKey, counter } = passkey;
  const result = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: new URL(publicURL).origin,
    expectedRPID: hostOf(publicURL),
    credential: { id: credentialID, publicKey: new Uint8Array(publicKey), counter },
    requireUserVerification: true,
  }).catch(() => undefined);
  if (!result?.verified) return undefined;
  const { newCounter } = result.authenticationInfo;
  const { rowCount } = await pool.query(
    'update sign_in_passkey set counter = $2, last_used_at = now() where id = $1 and counter <= $2',
    [id, newCounter],
  );
  return rowCount === 1 ? passkey.accountID : undefined;
}

export async function offerPasskey(
  pool: Pool,
  { publicURL, accountID, email }: { publicURL: string; accountID: string; email: string },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const own = await readPasskeys(pool, accountID);
  return await generateRegistrationOptions({
    rpName: 'Gantry',
    rpID: hostOf(publicURL),
    userName: email,
    userID: new TextEncoder().encode(accountID) as Uint8Array<ArrayBuffer>,
    attestationType: 'none',
    excludeCredentials: own.map(({ credentialID }) => ({ id: credentialID })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/** False if the answer of the browser is not one to this challenge, or the account has too many passkeys. */
export async function savePasskey(
  client: PoolClient,
  passkey: {
    accountID: string;
    name: string;
    response: RegistrationResponseJSON;
    challenge: string;
    publicURL: string;
  },
): Promise<boolean> {
  const { accountID, name, response, challenge, publicURL } = passkey;
  const result = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: new URL(publicURL).origin,
    expectedRPID: hostOf(publicURL),
    requireUserVerification: true,
  }).catch(() => undefined);
  if (!result?.verified) return false;
  const { credential } = result.registrationInfo;
  const { rowCount } = await client.query(
    `insert into sign_in_passkey (id, account_id, credential_id, public_key, counter, transports, name)
     select $1, $2, $3, $4, $5, $6, $7
     where (select count(*) from sign_in_passkey where account_id = $2) < ${MAX_PASSKEYS}
     on conflict (credential_id) do nothing`,
    [
      newID(),
      accountID,
      credential.id,
      Buffer.from(credential.publicKey),
      credential.counter,
      credential.transports ?? [],
      name,
    ],
  );
  return rowCount === 1;
}

export async function listPasskeys(pool: Pool, accountID: string): Promise<ShownPasskey[]> {
  const { rows } = await pool.query<ShownPasskey>(
    `select id, name, created_at as "createdAt", last_used_at as "lastUsedAt" from sign_in_passkey
     where account_id = $1 order by created_at`,
    [accountID],
  );
  return rows;
}

async function readPasskeys(pool: Pool, accountID: string): Promise<Passkey[]> {
  return (await pool.query<Passkey>(`${SELECT} where account_id = $1`, [accountID])).rows;
}

const SELECT = `
select id, account_id as "accountID", credential_id as "credentialID", public_key as "publicKey",
       counter::float8 as counter, transports
from sign_in_passkey`;

function hostOf(publicURL: string): string {
  return new URL(publicURL).hostname;
}
