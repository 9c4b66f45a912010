import type { ConnectionOptions } from 'node:tls';
import { tlsOptions } from '../outbound/tls.ts';

/** Whether to encrypt: never, if the server offers it, or always. */
export type Encryption = 'never' | 'offered' | 'always';

/** Which server, how it is spoken to, and as whom. */
export interface Target {
  host: string;
  port: number;
  /** What errors call it. */
  where: string;
  database: string;
  user: string;
  password: string;
  applicationName: string;
  connectMs: number;
  /** One after the other: a server may let the same user in by one of them only. */
  encryption: readonly Encryption[];
  tls: ConnectionOptions;
  /** The role is one we have made: its time limits are not the wish of whoever has given us the server. */
  isOurs: boolean;
}

export type SSLMode = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

/** As libpq means it. The connection goes to an address; the certificate is for the host that was named. */
export function securityOf(
  sslMode: SSLMode,
  { host, caCertificate = '' }: { host: string; caCertificate?: string },
): Pick<Target, 'encryption' | 'tls'> {
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
