import type { z } from 'zod';
import type { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { rabbitmq } from '#shared/datasources/types/rabbitmq.ts';
import type { Certificates } from '../../../outbound/tls.ts';

export interface RabbitMQEndpoint {
  host: string;
  port: number;
  vhost: string;
  username: string;
  password: string;
  heartbeat: number;
  certificates: Certificates | null;
}

/** Address and credentials, from either form of the options. */
export function endpointOf(options: z.output<(typeof rabbitmq)['options']>): RabbitMQEndpoint {
  if (options.connectionOption === 'connectionDetails') {
    const { ssl, ...details } = options.connectionDetails;
    return { ...details, certificates: ssl ? details : null };
  }
  const url = URL.parse(options.connectionUrl);
  if (!url || !/^amqps?:$/.test(url.protocol) || !url.hostname || url.search || url.hash || /\/.*\//.test(url.pathname))
    throw invalid('must be like amqp://user:password@host:5672/vhost (amqps:// with TLS), without parameters');
  const isEncrypted = url.protocol === 'amqps:';
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (isEncrypted ? 5671 : 5672)),
    vhost: decoded(url.pathname.slice(1)) || '/',
    username: decoded(url.username) || 'guest',
    password: decoded(url.password),
    heartbeat: 60,
    certificates: isEncrypted ? options : null,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid('has a % that begins no encoded character');
  }
}

function invalid(what: string): AppError {
  return invalidField('datasourceOptions.connectionUrl', what);
}
