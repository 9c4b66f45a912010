import type Provider from 'oidc-provider';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Passwords } from '../auth/passwords.ts';
import type { Mailer } from './mail.ts';
import type { SignInThrottle } from './throttle.ts';

/** Services that the pages of the sign-in use. */
export interface Needs {
  pool: Pool;
  secrets: KeyRing;
  logger: Logger;
  passwords: Passwords;
  throttle: SignInThrottle;
  /** Null: this deployment sends no mail. */
  mailer: Mailer | null;
  /** Where browsers reach this service. */
  publicURL: string;
  /** Where browsers reach the sign-in. */
  issuer: string;
  clientID: string;
  /** The one with the present keys. */
  provider(): Provider;
}
