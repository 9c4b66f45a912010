import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';
import type { Request } from '../../http/route/route.ts';

/** The part that all addresses of webhooks have behind origin and prefix of the deployment. */
export const PREFIX = '/webhooks/v1/inbound/';

/**
 * The URL that the sender called: origin and prefix as senders know them, then path and query as they were received. Taken from the
 * configuration alone, a signature of a URL would hold for every other path and query as well.
 */
export function calledURL(
  request: Pick<Request, 'protocol' | 'host' | 'originalUrl'>,
  { publicUrl }: Pick<WebhookOptions, 'publicUrl'>,
  deploymentURL: string | undefined,
): string {
  const base = baseOf(publicUrl) ?? deploymentURL ?? `${request.protocol}://${request.host}`;
  return base + request.originalUrl;
}

/** Origin and prefix. The URL may be that of a listener: the path and query behind the prefix are those of the request. */
function baseOf(publicUrl: string): string | undefined {
  if (publicUrl === '') return undefined;
  const [base = ''] = publicUrl.split(/[?#]|\/webhooks\/v1\/inbound\b/, 1);
  return base.replace(/\/+$/, '');
}

/** Senders do not agree whether the usual port of a URL is part of what they sign, nor whether another one is. */
export function withAndWithoutPort(url: string): string[] {
  const { scheme, host, port, rest } = URL_PARTS.exec(url)?.groups ?? {};
  if (!scheme || !host || rest === undefined) return [url];
  const usual = scheme === 'https' ? 443 : 80;
  return [url, port ? `${scheme}://${host}${rest}` : `${scheme}://${host}:${usual}${rest}`];
}

const URL_PARTS = /^(?<scheme>https?):\/\/(?<host>\[[^\]]*\]|[^/:?#]*)(?::(?<port>\d+))?(?<rest>.*)$/s;
