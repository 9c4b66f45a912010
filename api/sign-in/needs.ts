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
  /** Where clients reach the MCP service; undefined: this is not known, and apps cannot sign users in. */
  mcpURL: string | undefined;
  /** The one with the present keys. */
  provider(): Provider;
}
