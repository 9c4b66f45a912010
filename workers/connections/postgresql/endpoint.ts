import type { ConnectionOptions } from 'node:tls';
import { tlsOptions } from '../../outbound/tls.ts';

/** Whether to encrypt: never, if the server offers it, or always. */
export type Encryption = 'never' | 'offered' | 'always';

/** Address, encryption and credentials of a server. */
export interface PostgresEndpoint {
  host: string;
  port: number;
  /** Name in errors. */
  where: string;
  database: string;
  user: string;
  password: string;
  applicationName: string;
  connectMs: number;
  /** Tried in order: a server may accept the user with one of them only. */
  encryption: readonly Encryption[];
  tls: ConnectionOptions;
  /** Whether Gantry has created the role. Its time limit is then replaced; otherwise it is the choice of the server's owner. */
  isOurs: boolean;
}

export type SSLMode = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

/** Security by libpq's `sslmode`. The connection goes to an address; the certificate is checked for the named host. */
export function securityOf(
  sslMode: SSLMode,
  { host, caCertificate = '' }: { host: string; caCertificate?: string },
): Pick<PostgresEndpoint, 'encryption' | 'tls'> {
  return {
    encryption: attempts[sslMode],
    tls: {
      ...tlsOptions(host, { tlsVerify: sslMode === 'verify-ca' || sslMode === 'verify-full', caCertificate }),
      ...(sslMode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    },
  };
}

const attempts: Readonly<Record<SSLMode, readonly Encryption[]>> = {
  disable: ['never'],
  allow: ['never', 'always'],
  prefer: ['offered', 'never'],
  require: ['always'],
  'verify-ca': ['always'],
  'verify-full': ['always'],
};
