import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { restapi } from '#shared/datasources/types/restapi.ts';
import type { Connection, ExecuteOptions, QueryResult } from '../../connections/connection.ts';
import {
  createOutboundFetch,
  type HTTPRequest,
  type HTTPResponse,
  isRedirect,
  type OutboundFetch,
  whereOf,
} from '../../outbound/fetch.ts';
import { headersOf } from '../../outbound/headers.ts';
import { upstreamError } from '../../outbound/upstream-error.ts';
import {
  type Authentication,
  always,
  basic,
  bearer,
  type Credentials,
  clientCredentials,
  connectedAccount,
  inHeader,
  nothing,
} from '../http/auth.ts';
import { mediaTypeOf, parseFields, readBody, writeBody } from '../http/body.ts';
import { addParams, endpointURL, isBelow } from '../http/endpoint.ts';
import { type AnsweredPage, readPages } from '../http/pages.ts';
import { withRetries } from '../http/retry.ts';
import { statusError } from '../http/status.ts';
import type { Connector, ConnectorContext } from './connector.ts';

type Options = z.output<typeof restapi.options>;
type Query = z.output<typeof restapi.query>;

/** Connects to one API; its connections and its token are reused by all calls. */
export const connectRestapi: Connector<typeof restapi> = (options, context) =>
  openAPI(options, { ...context, account: accountOf(options, context) });

/**
 * Opens an API. `check` is called with every successful answer, and throws for errors that the API reports in its own form;
 * `account` replaces the credentials of the options.
 */
export function openAPI(
  options: Options,
  {
    outbound,
    check = () => undefined,
    account,
  }: Pick<ConnectorContext, 'outbound'> & {
    check?: (answer: HTTPResponse) => void | Promise<void>;
    account?: Authentication | undefined;
  },
): Connection<typeof restapi> {
  const fetch = createOutboundFetch(outbound, { sslVerify: options.sslVerify });
  const authentication = account ?? authenticationOf(options, fetch);
  const base = new URL(options.baseUrl);
  const optionValues = [...options.headers, ...options.queryParams].map(({ value }) => value);

  /** Whether the answer is a redirect, which is then the result. */
  function isUnfollowed(response: HTTPResponse): boolean {
    return !options.followRedirects && isRedirect(response);
  }

  /** Sends the request once, with the present credentials. */
  async function sendWith(credentials: Credentials, request: HTTPRequest, signal: AbortSignal): Promise<HTTPResponse> {
    const url = new URL(request.url);
    for (const [name, value] of credentials.query) url.searchParams.set(name, value);
    return await fetch({ ...request, url, headers: { ...request.headers, ...credentials.headers } }, signal);
  }

  /** Sends a request. After a 401, which means that it had no effect, sends it again with a new token if there can be one. */
  async function send(request: HTTPRequest, signal: AbortSignal): Promise<AnsweredPage> {
    const timeout = AbortSignal.timeout(options.timeout * 1000);
    const both = AbortSignal.any([signal, timeout]);
    try {
      let credentials = await authentication.get(both);
      let response = await sendWith(credentials, request, both);
      if (response.status === 401 && authentication.renew(credentials)) {
        credentials = await authentication.get(both);
        response = await sendWith(credentials, request, both);
      }
      return { ...response, secrets: [...credentials.secrets, ...optionValues] };
    } catch (error) {
      if (timeout.aborted && !signal.aborted) throw upstreamError('timeout', whereOf(request.url), error);
      throw error;
    }
  }

  async function sendWithRetries(request: HTTPRequest, { retries }: Query, signal: AbortSignal): Promise<AnsweredPage> {
    let secrets: readonly string[] = optionValues;
    const response = await withRetries(request, retries, {
      signal,
      async send(attempt) {
        const answered = await send(attempt, signal);
        secrets = answered.secrets;
        return answered;
      },
    });
    if (response.status >= 400) throw statusError(response, secrets);
    await check(response);
    return { ...response, secrets };
  }

  return {
    async test(signal) {
      const url = endpointURL(base, '');
      addParams(url, options.queryParams);
      const headers = { accept: acceptOf(options), ...headersOf(options.headers) };
      const response = await send({ url, method: 'GET', headers, followRedirects: options.followRedirects }, signal);
      if (response.status === 401 || response.status === 403) throw upstreamError('authentication', whereOf(url));
      // Many APIs answer 404 at their base URL, which shows that they are reachable.
      if (response.status >= 500) throw statusError(response, response.secrets);
    },

    async execute({ query }, run) {
      const { pagination } = query;
      const isInBody = pagination.type === 'cursor' && pagination.cursorIn === 'body';
      // With one idempotency key for all pages a server could answer each request with the first page.
      const request = requestOf(query, options, { base, run: isInBody ? { ...run, idempotencyKey: null } : run });
      if (pagination.type === 'none') {
        const response = await sendWithRetries(request, query, run.signal);
        const answer = await (isUnfollowed(response) ? presentRedirect(response) : readBody(response));
        return resultOf(answer, run.maxRows);
      }
      if (request.method !== 'GET' && !isInBody)
        throw invalidField('pagination', 'only a GET has pages, or a cursor that is sent in the body');

      const { rows, isMore } = await readPages(request.url, pagination, {
        maxRows: run.maxRows,
        fetchPage: async (url, cursor) => {
          if (!isBelow(url, base))
            throw new AppError('UPSTREAM_FAILED', `The next page of ${whereOf(base)} is said to be somewhere else`);
          const pageQuery = cursor === null ? query : withCursor(query, cursor);
          const page = await sendWithRetries({ ...request, url, body: bodyOf(pageQuery) }, query, run.signal);
          if (isUnfollowed(page))
            throw new AppError('UPSTREAM_FAILED', `${whereOf(url)} redirects, which this datasource does not follow`, {
              retry: false,
            });
          return page;
        },
      });
      return { data: rows, rowCount: rows.length, truncated: isMore };
    },

    [Symbol.asyncDispose]: () => fetch[Symbol.asyncDispose](),
  };
}

/** A redirect as the result of a query, for a datasource that does not follow it. */
async function presentRedirect(response: HTTPResponse): Promise<Json> {
  const { status, headers, url } = response;
  const location = headers.location ?? null;
  const body = await readBody(response);
  return { status, location: (location && URL.parse(location, url)?.href) ?? location, body };
}

function bodyOf({ method, contentType, body }: Query): string | null {
  return method === 'GET' || method === 'HEAD' ? null : writeBody(contentType, body);
}

/** The request for the next page. */
function withCursor(query: Query, cursor: string): Query {
  const { pagination, body } = query;
  if (pagination.type !== 'cursor') return query;
  const fields = typeof body === 'string' ? parseFields(body) : body;
  if (!isJsonObject(fields)) throw invalidField('body', 'must be an object for a cursor to be in it');
  return { ...query, body: { ...fields, [pagination.cursorParam]: cursor } };
}

function requestOf(query: Query, options: Options, { base, run }: { base: URL; run: ExecuteOptions }): HTTPRequest {
  const url = endpointURL(base, query.apiEndpoint);
  addParams(url, [...options.queryParams, ...query.queryParams]);
  const isRead = query.method === 'GET' || query.method === 'HEAD';
  const body = bodyOf(query);
  const headers = {
    accept: acceptOf(options),
    ...(body !== null && { 'content-type': mediaTypeOf(query.contentType) }),
    ...(!isRead && run.idempotencyKey !== null && { 'idempotency-key': encodeURIComponent(run.idempotencyKey) }),
    ...headersOf(options.headers, query.headers),
  };
  return { url, method: query.method, headers, body, followRedirects: options.followRedirects };
}

const accepted = { json: 'application/json', xml: 'application/xml, text/xml', text: 'text/plain' } as const;

function acceptOf({ contentType }: Options): string {
  return `${accepted[contentType]}, */*;q=0.5`;
}

/** Cuts a list to the wanted number of rows. */
function resultOf(data: Json, maxRows: number): QueryResult {
  if (!Array.isArray(data)) return { data };
  return { data: data.slice(0, maxRows), rowCount: Math.min(data.length, maxRows), truncated: data.length > maxRows };
}

/** Undefined without an OAuth connection. */
function accountOf(options: Options, { tenantID, oauthConnections }: ConnectorContext): Authentication | undefined {
  const { authType, oauthConnectionID, baseUrl } = options;
  if (authType !== 'oauthConnection' || oauthConnectionID === undefined) return undefined;
  return connectedAccount({ tenantID, oauthConnectionID, url: new URL(baseUrl) }, oauthConnections);
}

function authenticationOf(options: Options, fetch: OutboundFetch): Authentication {
  const { apiKey, oauth2 } = options;
  switch (options.authType) {
    case 'none':
      return always(nothing);
    case 'basic':
      return always(basic(options.username, options.password));
    case 'bearer':
      return always(bearer(options.bearerToken));
    case 'apiKey':
      if (apiKey.in === 'header') return always(inHeader(apiKey.name, apiKey.value));
      return always({ headers: {}, query: [[apiKey.name, apiKey.value]], secrets: [apiKey.value] });
    case 'oauth2': {
      const { tokenUrl } = oauth2;
      if (tokenUrl === undefined) throw invalidField('datasourceOptions.oauth2.tokenUrl', 'is needed to get a token');
      return clientCredentials({ ...oauth2, tokenUrl }, fetch);
    }
    case 'oauthConnection':
      throw invalidField('datasourceOptions.oauthConnectionID', 'is needed to get a token');
  }
}
